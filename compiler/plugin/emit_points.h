#pragma once

#include "points.h"

namespace musubi::compiler {

// Emits the checks of a function, in the order that plan_points gives. The analyses of the function end here.
void emit_points(llvm::Function& function, llvm::ArrayRef<Point> points);

}  // namespace musubi::compiler
