#include "gangsched/src/kube/simulation/cron.hpp"

#include <absl/time/civil_time.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>
#include <vector>

#include "gangsched/src/kube/simulation/times.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

struct bounds {
  unsigned least, most;
  std::vector<std::string_view> names = {};  // of the numbers from `least` on
};
const std::array<bounds, 5> cron_fields{
    {{0, 59},
     {0, 23},
     {1, 31},
     {1, 12, {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
     {0, 6, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}}};
const std::map<std::string_view, const char*> shorthands{
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"}};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

unsigned number(const std::string& text, const bounds& of) {
  const auto named = std::ranges::find(of.names, text);
  if (named != of.names.end()) return of.least + static_cast<unsigned>(named - of.names.begin());
  unsigned made = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), made);
  if (wrong != std::errc{} || end != text.data() + text.size())
    throw std::invalid_argument{fmt::format("\"{}\" is no number", text)};
  return made;
}

/// "*", "1-5", "*/15", "3/2": the bits, and whether it says nothing.
std::uint64_t range(const std::string& text, const bounds& of, bool& any) {
  const std::vector<std::string> parts = split(text, '/'), ends = split(parts.front(), '-');
  if (parts.size() > 2 || ends.size() > 2) throw std::invalid_argument{fmt::format("\"{}\" is no range", text)};
  const bool all = ends.front() == "*" || ends.front() == "?";
  const unsigned first = all ? of.least : number(ends.front(), of);
  unsigned last = all ? of.most : ends.size() == 2 ? number(ends.back(), of) : first, step = 1;
  if (parts.size() == 2) {
    step = number(parts.back(), {});
    if (ends.size() == 1) last = of.most;
  }
  if (first < of.least || last > of.most || first > last || step == 0)
    throw std::invalid_argument{fmt::format("\"{}\" is no range within {}-{}", text, of.least, of.most)};
  any = any || (all && step == 1);
  std::uint64_t made = 0;
  for (unsigned i = first;; i += step) {
    made |= std::uint64_t{1} << i;
    if (step > last - i) return made;
  }
}

bool has(std::uint64_t bits, int number) { return (bits >> number & 1) != 0; }

}  // namespace

cron_schedule::cron_schedule(const std::string& text, const std::string& zone) {
  if (!zone.empty() && !absl::LoadTimeZone(zone, &zone_))
    throw std::invalid_argument{fmt::format("\"{}\" is no time zone", zone)};
  try {
    if (constexpr std::string_view every = "@every "; text.starts_with(every)) {
      const auto length = read_duration(text.substr(every.size()));
      if (!length) throw std::invalid_argument{"is no duration"};
      every_ = std::max<std::int64_t>(1, std::chrono::floor<std::chrono::seconds>(*length).count());
      return;
    }
    const auto known = shorthands.find(text);
    std::istringstream words{known == shorthands.end() ? text : known->second};
    std::vector<std::string> each;
    for (std::string word; words >> word; each.push_back(word))
      std::ranges::transform(word, word.begin(),
                             [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (each.size() != cron_fields.size())
      throw std::invalid_argument{fmt::format("has {} fields, not 5", each.size())};
    const std::array<std::uint64_t*, 5> bits{&minutes_, &hours_, &days_, &months_, &weekdays_};
    bool ignored = false;
    const std::array<bool*, 5> any{&ignored, &ignored, &any_day_, &ignored, &any_weekday_};
    for (std::size_t i = 0; i < cron_fields.size(); ++i)
      for (const std::string& part : split(each[i], ',')) *bits[i] |= range(part, cron_fields[i], *any[i]);
  } catch (const std::invalid_argument& wrong) {
    throw std::invalid_argument{fmt::format("schedule \"{}\": {}", text, wrong.what())};
  }
}

bool cron_schedule::is_its_day(absl::CivilDay day) const {
  const bool date = has(days_, day.day());
  const bool weekday = has(weekdays_, (static_cast<int>(absl::GetWeekday(day)) + 1) % 7);  // Monday is its first
  return any_day_ || any_weekday_ ? date && weekday : date || weekday;
}

std::optional<std::int64_t> cron_schedule::after(std::int64_t seconds) const {
  if (every_ != 0) return seconds + every_;
  constexpr std::int64_t minute = 60, years = 9;  // 29 February is eight years away at most
  // By the clock on the wall, which may leave an hour out, or have it twice.
  for (std::int64_t at = (seconds >= 0 ? seconds / minute : (seconds - minute + 1) / minute) * minute + minute,
                    end = seconds + years * 366 * 86'400;
       at <= end;) {
    const absl::CivilSecond wall = zone_.At(absl::FromUnixSeconds(at)).cs;
    const absl::CivilDay day{wall};
    if (!has(months_, wall.month()) || !is_its_day(day)) {
      const absl::TimeZone::TimeInfo next = zone_.At(absl::CivilSecond{day + 1});
      at = std::max(at + minute,
                    absl::ToUnixSeconds(next.kind == absl::TimeZone::TimeInfo::SKIPPED ? next.trans : next.pre));
    } else if (!has(hours_, wall.hour())) {
      at += minute * (60 - wall.minute());
    } else if (!has(minutes_, wall.minute())) {
      at += minute;
    } else {
      return at;
    }
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
