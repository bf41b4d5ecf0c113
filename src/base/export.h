// Marks the functions that our shared libraries export to programs; all other symbols have hidden visibility.
#pragma once

#define MUSUBI_EXPORT __attribute__((visibility("default")))
