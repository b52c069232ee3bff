#pragma once

#include <span>
#include <string>

#include "frontend/diagnostic.h"

namespace bf_aot::system {

// Whether --json was given, of the whole process: errors are then an object on standard output,
// besides their text on standard error.
void set_json_output(bool json);
bool json_output();

// {"errors": [{"code", "place", "message", "hint"}, ..]}; $defs/errors of docs/reference/json.
std::string errors_json(std::span<const Diagnostic> diagnostics);

// Prints diagnostics as text on standard error, and with --json as an object.
void print_errors(std::span<const Diagnostic> diagnostics);

}  // namespace bf_aot::system
