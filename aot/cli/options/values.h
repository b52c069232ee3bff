#pragma once

#include <string>

#include "aot/build/options/values.h"
#include "aot/cli/options/command_line.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot::cli {

using build::nearest;
using build::number;
using build::one_of;
using build::positive_number;
using build::whole;

// Makes the values of an option bytes, written as 65536, 64K or 2M.
Option* takes_bytes(Option* option);

// Adds --jobs. threads: what they do, as "threads that bound".
template <class Number>
Option* add_jobs_option(CommandLine& app, Number& jobs, const std::string& threads) {
  return app.add_option("-j,--jobs", jobs, threads + " (default: as many as there are cores)")
      ->transform(whole(1, 256))
      ->type_name("N");
}

// Make the option take a list of numbers, of two texts, or of names, written as Option::list() has
// it.
Option* takes_numbers(Option* option);
Option* takes_pair(Option* option);
Option* takes_names(Option* option, const ValueRule& rule);

// The number that a text names. Throws: BF3013 that names the option.
vnnlib::Number exact_number(const std::string& text, const char* option);

}  // namespace bf_aot::cli
