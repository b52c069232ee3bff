#include "aot/artifacts/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace bf_aot::artifacts {

std::string escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:  // HTML has no control characters but these
        result +=
            c == 0x7f || (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') ? '_' : c;
    }
  }
  return result;
}

std::string shorten(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  std::size_t head = (most - 1) / 3;
  std::size_t tail = text.size() - (most - 1 - head);
  while (head > 0 && continues(text[head])) --head;
  while (tail < text.size() && continues(text[tail])) ++tail;
  return std::string(text.substr(0, head)) + "…" + std::string(text.substr(tail));
}

std::string bytes_text(double bytes) {
  if (bytes < 10'000) return fmt::format("{:.0f} B", bytes);
  constexpr const char* kUnits[] = {"KB", "MB", "GB"};
  std::size_t unit = 0;
  for (bytes /= 1e3; bytes >= 999.5 && unit + 1 < std::size(kUnits); bytes /= 1e3) ++unit;
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

std::string count_text(double count) {
  if (count < 100'000) {
    std::string digits = fmt::format("{:.0f}", count);
    if (digits.size() > 4) digits.insert(digits.size() - 3, "\u202f");
    return digits;
  }
  if (count < 1e6) return fmt::format("{:.0f} k", count / 1e3);
  if (count < 1e9) return fmt::format("{:.3g} M", count / 1e6);
  return fmt::format("{:.3g} G", count / 1e9);
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.1f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string number_text(double x) {
  if (std::isnan(x)) return "?";
  if (std::isinf(x)) return x > 0 ? "∞" : "−∞";
  return fmt::format("{:.3g}", x);
}

std::string bar(double share, std::string_view css_class, std::string_view title) {
  const double percent = std::clamp(share, 0.0, 1.0) * 100;
  return fmt::format(
      "<span class=\"meter\" title=\"{}\"><i class=\"{}\" style=\"width:{:.1f}%\"></i></span>",
      escape(title), css_class, percent);
}

std::string table(const std::string& head, const std::string& rows) {
  return "<div class=\"scroll\"><table><thead><tr>" + head + "</tr></thead><tbody>\n" + rows +
         "</tbody></table></div>";
}

std::string section(std::string_view id, std::string_view title, std::string_view lead,
                    std::string_view body) {
  return fmt::format("<section id=\"{}\"><h2>{}</h2>\n<p class=\"lead\">{}</p>\n{}</section>\n", id,
                     title, lead, body);
}

}  // namespace bf_aot::artifacts
