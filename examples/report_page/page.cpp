#include "report_page/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#if GANGSCHED_HAS_REPORT_PAGE
#include "report_page_files.hpp"  // made while building, by cmake/embed.cmake
#endif

namespace report_page {

std::string quoted(std::string_view text) {
  std::string made{'"'};
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (made += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      fmt::format_to(std::back_inserter(made), "\\u{:04x}", static_cast<unsigned>(c));
    else
      made += c;
  }
  return made += '"';
}

#if GANGSCHED_HAS_REPORT_PAGE
namespace {

/// JSON within a script element must not end it.
std::string in_script(std::string_view json) {
  std::string made;
  made.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      made += "\\u003c";
    else
      made += c;
  }
  return made;
}

}  // namespace

bool is_there() noexcept { return true; }

std::string page_of(std::string_view tool, std::string_view title, std::string_view runs) {
  const std::string data =
      in_script(fmt::format("{{\"tool\": {}, \"title\": {}, \"runs\": {}}}", quoted(tool), quoted(title), runs));
  const std::array<std::pair<std::string_view, std::string_view>, 6> parts{{{"{{licence}}", files::licence},
                                                                            {"{{library_style}}", files::library_style},
                                                                            {"{{style}}", files::style},
                                                                            {"{{data}}", data},
                                                                            {"{{library}}", files::library},
                                                                            {"{{code}}", files::code}}};
  std::string made;
  std::string_view rest = files::page;
  for (const auto& [mark, text] : parts) {  // in the order in which they are there
    const std::size_t at = rest.find(mark);
    made.append(rest.substr(0, at)).append(text);
    rest.remove_prefix(at + mark.size());
  }
  return made.append(rest);
}
#else
bool is_there() noexcept { return false; }
std::string page_of(std::string_view, std::string_view, std::string_view) { return {}; }
#endif

}  // namespace report_page
