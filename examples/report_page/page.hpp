#pragma once
#include <string>
#include <string_view>

/// The page of --report: HTML that needs nothing else, no network either. What draws is of scripts/report-page and this folder.
namespace report_page {

/// Whether this build has the page.
[[nodiscard]] bool is_there() noexcept;
/// What to do if it has not; one line.
inline constexpr std::string_view how_to_have_it =
    "this build has no page for --report: run scripts/report-page and build again";

/// The page of some runs of a tool. @p runs is a JSON list of objects: name, result (what the tool says as JSON, with its time line).
[[nodiscard]] std::string page_of(std::string_view tool, std::string_view title, std::string_view runs);

/// @p text as a string of JSON.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace report_page
