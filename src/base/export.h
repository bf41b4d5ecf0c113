// What a shared library of ours shows to programs; everything else is built with hidden visibility.
#pragma once

#define MUSUBI_EXPORT __attribute__((visibility("default")))
