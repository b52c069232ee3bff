#pragma once

#include "aot/check/certificate.h"

namespace bf_check {

// Walks the trees of all cases, which begin where `in` stands and end with the certificate. What it
// says, and the steps that `work` spends, do not depend on the number of threads. Throws NotProven,
// Refused: the first reason in the order of the bytes.
void walk_trees(const Input& in, const Network& network, const Property& property,
                unsigned coefficient_bits, Work& work, const Checking& way);

}  // namespace bf_check
