#include "prometheus_text.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

namespace gangsched::testing {

namespace {

bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':'))
      return false;
  }
  return true;
}

/// `{a="b",c="d"}` from @p at on; nothing if it is none.
bool read_labels(std::string_view line, std::size_t& at, std::map<std::string, std::string>& labels) {
  if (line[at] != '{') return true;
  for (++at;; ++at) {
    const std::size_t equals = line.find('=', at);
    if (equals == line.npos || !is_name(line.substr(at, equals - at)) || line.substr(equals + 1, 1) != "\"")
      return false;
    std::string& value = labels[std::string{line.substr(at, equals - at)}];
    if (!value.empty()) return false;
    for (at = equals + 2; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] != '\\') {
        value += line[at];
        continue;
      }
      if (++at == line.size() || std::string_view{"\\\"n"}.find(line[at]) == std::string_view::npos) return false;
      value += line[at] == 'n' ? '\n' : line[at];
    }
    if (at == line.size() || ++at == line.size()) return false;
    if (line[at] == '}') return ++at, true;
    if (line[at] != ',') return false;
  }
}

struct buckets {
  double last_end = -std::numeric_limits<double>::infinity(), last = 0;
  bool ended = false;
};

}  // namespace

std::map<std::string, prometheus_family> read_prometheus(std::string_view text, std::vector<std::string>& wrong) {
  std::map<std::string, prometheus_family> all;
  std::map<std::string, buckets> open;
  std::string current;
  std::istringstream lines{std::string{text}};
  if (!text.empty() && text.back() != '\n') wrong.emplace_back("no line feed at the end");
  for (std::string line; std::getline(lines, line);) {
    const auto complain = [&](const char* what) { wrong.push_back(what + (": " + line)); };
    if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) {
      const std::size_t space = line.find(' ', 7);
      if (space == line.npos) return complain("no text"), all;
      const std::string name = line.substr(7, space - 7), rest = line.substr(space + 1);
      if (line[2] == 'H') {
        if (all.contains(name)) complain("a second HELP");
        all[name].help = rest;
        current = name;
      } else {
        if (name != current || !all[name].type.empty()) complain("TYPE does not follow its HELP");
        if (rest != "counter" && rest != "gauge" && rest != "histogram") complain("no such type");
        all[name].type = rest;
      }
      continue;
    }
    std::size_t at = line.find_first_of("{ ");
    if (at == line.npos || !is_name(line.substr(0, at))) return complain("no sample"), all;
    const std::string name = line.substr(0, at);
    std::map<std::string, std::string> labels;
    if (!read_labels(line, at, labels) || at >= line.size() || line[at] != ' ') return complain("labels"), all;
    const std::string key = line.substr(0, at), number = line.substr(at + 1);
    char* end = nullptr;
    const double value = number == "+Inf" ? std::numeric_limits<double>::infinity() : std::strtod(number.c_str(), &end);
    if (number.empty() || (end != nullptr && *end != 0)) return complain("no number"), all;
    prometheus_family& of = all[current];
    if (!of.samples.emplace(key, value).second) complain("twice");
    if (of.type != "histogram") {
      if (name != current) complain("not of the family before it");
      if (of.type == "counter" && value < 0) complain("a counter below nothing");
      continue;
    }
    const std::string_view suffix = std::string_view{name}.substr(std::min(name.size(), current.size()));
    std::string series;
    for (const auto& [label, said] : labels)
      if (label != "le") series += label + "=" + said + ",";
    buckets& its = open[current + "{" + series];
    if (!name.starts_with(current)) complain("not of the family before it");
    if (suffix == "_bucket") {
      const std::string le = labels["le"];
      const double upper = le == "+Inf" ? std::numeric_limits<double>::infinity() : std::strtod(le.c_str(), nullptr);
      if (upper <= its.last_end || value < its.last || its.ended) complain("buckets do not add up");
      its = {upper, value, std::isinf(upper)};
    } else if (suffix == "_count") {
      if (!its.ended || its.last != value) complain("the count is not that of the last bucket");
    } else if (suffix != "_sum") {
      complain("no part of a histogram");
    }
  }
  return all;
}

}  // namespace gangsched::testing
