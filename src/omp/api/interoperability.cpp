// Interoperability objects, of which a job has none.
#include <cstdint>

#include "omp/entry.h"

namespace {

// omp_interop_rc_t: the object is empty.
constexpr int empty = 1;

}  // namespace

extern "C" {

MUSUBI_EXPORT int omp_get_num_interop_properties(const void* /*object*/) {
  return 0;
}
MUSUBI_EXPORT std::intptr_t omp_get_interop_int(const void* /*object*/, int /*property*/, int* result) {
  if (result != nullptr) *result = empty;
  return 0;
}
MUSUBI_EXPORT void* omp_get_interop_ptr(const void* /*object*/, int /*property*/, int* result) {
  if (result != nullptr) *result = empty;
  return nullptr;
}
MUSUBI_EXPORT const char* omp_get_interop_str(const void* /*object*/, int /*property*/, int* result) {
  if (result != nullptr) *result = empty;
  return nullptr;
}
MUSUBI_EXPORT const char* omp_get_interop_name(const void* /*object*/, int /*property*/) {
  return nullptr;
}
MUSUBI_EXPORT const char* omp_get_interop_type_desc(const void* /*object*/, int /*property*/) {
  return nullptr;
}
MUSUBI_EXPORT const char* omp_get_interop_rc_desc(const void* /*object*/, int /*result*/) {
  return nullptr;
}
MUSUBI_EXPORT int omp_get_num_interop_properties_(const void* /*object*/) {
  return 0;
}
MUSUBI_EXPORT std::intptr_t omp_get_interop_int_(const void* object, const int* property, int* result) {
  return omp_get_interop_int(object, *property, result);
}
MUSUBI_EXPORT void* omp_get_interop_ptr_(const void* object, const int* property, int* result) {
  return omp_get_interop_ptr(object, *property, result);
}
MUSUBI_EXPORT const char* omp_get_interop_str_(const void* object, const int* property, int* result) {
  return omp_get_interop_str(object, *property, result);
}
MUSUBI_EXPORT const char* omp_get_interop_name_(const void* object, const int* property) {
  return omp_get_interop_name(object, *property);
}
MUSUBI_EXPORT const char* omp_get_interop_type_desc_(const void* object, const int* property) {
  return omp_get_interop_type_desc(object, *property);
}
MUSUBI_EXPORT const char* omp_get_interop_rc_desc_(const void* object, const int* result) {
  return omp_get_interop_rc_desc(object, *result);
}

}  // extern "C"
