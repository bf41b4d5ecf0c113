// Whether threads may synchronise by the one atomic instruction of each function: X(name, orders); 2: as far
// as unoptimised code shows.
#pragma once

#define MUSUBI_ORDER_SUBJECTS(X) \
  X(add_to_double, 0)            \
  X(divide_by_double, 0)         \
  X(add_to_float, 0)             \
  X(multiply_int, 0)             \
  X(shift_short, 0)              \
  X(add_to_int, 0)               \
  X(take_place, 2)               \
  X(take_places, 2)              \
  X(take_place_at_the_end, 1)    \
  X(take_last_place, 1)          \
  X(take_place_if_room, 1)       \
  X(take_place_of_other, 1)      \
  X(take_place_and_tell, 1)      \
  X(take_place_and_note, 1)      \
  X(take_ticket, 1)              \
  X(is_last, 1)                  \
  X(spin_for_lock, 1)            \
  X(spin_by_comparing, 1)        \
  X(try_lock, 1)                 \
  X(claim, 1)                    \
  X(push, 1)                     \
  X(pop, 1)                      \
  X(take_if_any, 1)              \
  X(set_bit_and_look, 1)         \
  X(choose_if_last, 1)

#define FUNCTION_AT(level, name) name##_at_##level
#define FUNCTION_OF(level, name) FUNCTION_AT(level, name)
#define FUNCTION(name) FUNCTION_OF(LEVEL, name)
