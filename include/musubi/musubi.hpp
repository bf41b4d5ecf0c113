// musubi.h for C++20: the same functions with objects that clean up, exceptions, spans and allocators
// (docs/guide/languages.md begins with a program).
//
// All of it is in headers over the C interface: link with -lmusubi. What musubi.h says about visibility,
// threads and collective calls holds here. A function throws musubi::error where that of C gives a code.
#pragma once

#include <musubi/cpp/atomic.hpp>
#include <musubi/cpp/collectives.hpp>
#include <musubi/cpp/error.hpp>
#include <musubi/cpp/job.hpp>
#include <musubi/cpp/locks.hpp>
#include <musubi/cpp/memory.hpp>
#include <musubi/musubi.h>
