#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bf_aot::artifacts {

// Escapes a text for HTML. Whatever comes from a model has to go through it.
std::string escape(std::string_view text);

// Leaves out the middle of a name longer than `most`: "layer_1…query_add". Counts bytes; cuts
// between characters.
std::string shorten(std::string_view text, std::size_t most);

std::string bytes_text(double bytes);      // "512 B", "21.2 KB"
std::string count_text(double count);      // "12 288", "1.05 M"
std::string seconds_text(double seconds);  // "1.2 ms"
std::string number_text(double x);         // four digits, "∞"

// A bar of `share` (0 to 1) of a cell, with a title.
std::string bar(double share, std::string_view css_class, std::string_view title);

// A table of a row of titles, "<th>..", and rows, "<tr>..".
std::string table(const std::string& head, const std::string& rows);

// <section id="id"><h2>title</h2><p class="lead">lead</p>body</section>
std::string section(std::string_view id, std::string_view title, std::string_view lead,
                    std::string_view body);

}  // namespace bf_aot::artifacts
