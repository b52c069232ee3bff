#include "aot/system/terminal.h"

#include <fmt/color.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace bf_aot::system {
namespace {

Verbosity process_verbosity = Verbosity::kNormal;

bool has_colour(Stream stream) {
  const char* const none = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return is_terminal(stream) && (none == nullptr || *none == '\0') && terminal != nullptr &&
         std::strcmp(terminal, "dumb") != 0;
}

std::filesystem::path document_folder() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path installed = program.parent_path().parent_path() / BF_DOCUMENT_FOLDER;
    if (fs::is_directory(installed / "reference", error)) return installed;
  }
  return fs::path(BF_SOURCE_FOLDER) / "docs";  // without that folder, where a clone has them
}

}  // namespace

bool is_terminal(Stream stream) {
  return isatty(stream == Stream::kOutput ? STDOUT_FILENO : STDERR_FILENO) != 0;
}

Style::Style(Look look, Stream stream) : look_(look), coloured_(has_colour(stream)) {}

std::string Style::operator()(std::string_view text) const {
  if (!coloured_) return std::string(text);
  fmt::text_style style = fmt::emphasis::bold;
  if (look_ == kError) style |= fmt::fg(fmt::terminal_color::red);
  return fmt::format(style, "{}", text);
}

void set_verbosity(Verbosity verbosity) {
  process_verbosity = verbosity;
}

Verbosity verbosity() {
  return process_verbosity;
}

bool shows_progress() {
  return process_verbosity != Verbosity::kQuiet && is_terminal(Stream::kErrors);
}

std::string document(std::string_view page) {
  return (document_folder() / page).string();
}

std::string with_documents(std::string_view text) {
  constexpr std::string_view kFolder = "docs/";
  std::string result;
  for (std::size_t found; (found = text.find(kFolder)) != std::string_view::npos;) {
    const bool whole = found == 0 || text[found - 1] == ' ' || text[found - 1] == '(';
    result += text.substr(0, found);
    result += whole ? document("") : std::string(kFolder);
    text.remove_prefix(found + kFolder.size());
  }
  return result += text;
}

}  // namespace bf_aot::system
