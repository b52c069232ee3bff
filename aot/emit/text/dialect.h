#pragma once

#include <string>
#include <string_view>

#include "planner/plan/config.h"

namespace bf_aot::emit {

// The words that C99, C++17 and the languages of devices have for the same thing. What prints code
// asks here for each of them; everything else of a text is common to all languages. Those of
// devices are C99 but for the words of runtime/bf/c/words/opencl.h and cuda.h.
class Dialect {
 public:
  explicit Dialect(Language language = Language::kCpp) : language_(language) {}

  bool is_c() const { return language_ != Language::kCpp; }  // or C for a device
  bool is_of_device() const { return bf_aot::is_of_device(language_); }
  std::string_view suffix() const;  // of source files

  // A function or type of the runtime: "bf::overlap", "bf_overlap".
  std::string runtime(std::string_view name) const;
  // A type of so many bits: "std::int32_t", "int32_t".
  std::string integer(std::string_view name) const;
  std::string_view null() const { return is_c() ? "NULL" : "nullptr"; }
  std::string_view zeros() const { return is_c() ? "{0}" : "{}"; }    // initialises an array
  std::string_view mask() const { return is_c() ? "bool" : "auto"; }  // the type of a comparison
  std::string_view infinity() const { return is_c() ? "BF_INFINITY" : "__builtin_inff()"; }
  std::string_view double_infinity() const {
    return is_c() ? "BF_INFINITY_DOUBLE" : "__builtin_inf()";
  }

  // The words before the type of a constant: of the file, of a function, of a file's array at
  // addresses that are multiples of `align`, which C99 does not have and scalar code does not need.
  std::string_view constant() const;
  std::string_view local_constant() const { return is_c() ? "static const" : "static constexpr"; }
  std::string aligned_constant(int align) const;

  // The word before what a pointer points to, where all items of a device's group share it.
  std::string_view shared() const { return is_of_device() ? "BF_GLOBAL " : ""; }

  std::string cast(std::string_view type, std::string_view value) const;
  // A structure as an argument: "bf::RelaxErrors{1, 2}", "&(const bf_relax_errors){1, 2}".
  std::string structure(std::string_view cpp_name, std::string_view c_name,
                        std::string_view members) const;
  // The definition of the structure that a call for a device names instead, "made": OpenCL C has no
  // addresses of literals.
  std::string made_structure(std::string_view c_name, std::string_view members) const;

  // The lines of a function, indented, that return the status of a call unless it is BF_OK. `what`
  // is the word for what is checked.
  std::string checked(std::string_view what, std::string_view call) const;

 private:
  Language language_;
};

// The language of what a program calls: of a device, C99.
Dialect dialect_of_host(Language language);

}  // namespace bf_aot::emit
