#pragma once

namespace bf_aot {

class Composite;
class LongReal;

// Values with the numbers of the expression as they are known. In double as evaluate() has them; in
// many digits, of which cancellation may lose any number.
double value_of(const Composite& composite, double x);
LongReal value_of(const Composite& composite, const LongReal& x);

}  // namespace bf_aot
