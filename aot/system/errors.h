#pragma once

#include <span>
#include <string>

#include "frontend/diagnostic.h"

namespace bf_aot::system {

// Sets and tells whether --json was given. It holds for the whole process: errors are then printed
// as an object on standard output, besides their text on standard error.
void set_json_output(bool json);
bool json_output();

// The text {"errors": [{"code", "place", "message", "hint"}, ..]}, which is $defs/errors of
// docs/reference/json.
std::string errors_json(std::span<const Diagnostic> diagnostics);

// Prints diagnostics as text on standard error, and with --json as an object.
void print_errors(std::span<const Diagnostic> diagnostics);

}  // namespace bf_aot::system
