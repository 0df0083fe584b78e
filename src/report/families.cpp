#include "gangsched/src/report/families.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace gangsched::inline GANGSCHED_ABI::report::detail {

namespace {

/// Line feeds and backslashes, and in the value of a label also quotes.
void append_escaped(std::string& out, std::string_view text, bool quoted) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (quoted && c == '"')) out += '\\';
    out += c;
  }
}

std::string_view kind_word(metric_kind kind) {
  switch (kind) {
    case metric_kind::counter: return "counter";
    case metric_kind::gauge: return "gauge";
    case metric_kind::histogram: return "histogram";
  }
  return "";
}

}  // namespace

std::string number_text(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 64> text{};
  const auto done = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general);
  return std::string{text.data(), done.ptr};
}

family::family(const family_words& words) : words_(&words) {
  double end = words.buckets.first;
  for (std::size_t i = 0; i < words.buckets.count; ++i) {
    ends_.push_back(end);
    end *= words.buckets.factor;
  }
  if (words.labels.size() == 0) find({});
}

family::series& family::find(values labels) {
  for (series& one : series_) {
    if (std::equal(one.labels.begin(), one.labels.end(), labels.begin(), labels.end())) return one;
  }
  series made;
  made.labels.assign(labels.begin(), labels.end());
  if (words_->kind == metric_kind::histogram) made.counts.resize(ends_.size() + 1);
  return series_.emplace_back(std::move(made));
}

void family::observe(values labels, double value) {
  series& to = find(labels);
  const auto bucket = std::lower_bound(ends_.begin(), ends_.end(), value);
  ++to.counts[static_cast<std::size_t>(bucket - ends_.begin())];
  to.sum += value;
}

void family::write_line(std::string& out, std::string_view suffix, const series& of, std::string_view le,
                        std::string_view value) const {
  ((out += "scheduler_") += words_->name) += suffix;
  char before = '{';
  const auto label = [&](std::string_view name, std::string_view text) {
    out += before;
    before = ',';
    (out += name) += "=\"";
    append_escaped(out, text, true);
    out += '"';
  };
  std::size_t i = 0;
  for (const std::string_view name : words_->labels) label(name, of.labels[i++]);
  if (!le.empty()) label("le", le);
  if (before == ',') out += '}';
  ((out += ' ') += value) += '\n';
}

void family::write(std::string& out) const {
  if (series_.empty()) return;
  (((out += "# HELP scheduler_") += words_->name) += " [") += words_->stability;
  out += "] ";
  append_escaped(out, words_->help, false);
  (((out += "\n# TYPE scheduler_") += words_->name) += ' ') += kind_word(words_->kind);
  out += '\n';
  // By labels, whatever series came first.
  std::vector<const series*> sorted;
  for (const series& one : series_) sorted.push_back(&one);
  std::sort(sorted.begin(), sorted.end(), [](const series* a, const series* b) { return a->labels < b->labels; });
  for (const series* one : sorted) {
    if (words_->kind != metric_kind::histogram) {
      write_line(out, "", *one, "", number_text(one->sum));
      continue;
    }
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < one->counts.size(); ++i) {
      below += one->counts[i];
      write_line(out, "_bucket", *one, i < ends_.size() ? number_text(ends_[i]) : "+Inf", std::to_string(below));
    }
    write_line(out, "_sum", *one, "", number_text(one->sum));
    write_line(out, "_count", *one, "", std::to_string(below));
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::report::detail
