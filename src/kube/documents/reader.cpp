#include "gangsched/src/kube/documents/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace gangsched::inline GANGSCHED_ABI::kube {

std::string warning::message() const { return object + (field.empty() ? ": " : ": " + field + ": ") + reason; }

namespace detail {

std::string place::path() const {
  if (up == nullptr) return {};
  std::string all = up->path();
  if (key.data() == nullptr) return all += fmt::format("[{}]", index);
  if (key.find_first_of("./[\" ") != std::string_view::npos) return all += fmt::format("[\"{}\"]", key);
  if (!all.empty()) all += '.';
  return all += key;
}

std::string_view article(value_kind kind) {
  switch (kind) {
    case value_kind::null: return "nothing";
    case value_kind::boolean: return "true or false";
    case value_kind::number: return "a number";
    case value_kind::text: return "text";
    case value_kind::list: return "a list";
    case value_kind::object: return "an object";
  }
  return "?";
}

bool reader::fail(errc code, const place& of, std::string reason) {
  return fail(code, of.at->line, of.path(), std::move(reason));
}

bool reader::fail(errc code, std::uint32_t line, std::string path, std::string reason) {
  if (!failure_)
    failure_ = error{code, fmt::format("{}:{}: {}", file_, line, object_), std::move(path), std::move(reason)};
  return false;
}

bool reader::fail(error whole) {
  if (!failure_) failure_ = std::move(whole);
  return false;
}

bool reader::warn(const place& of, std::string reason) { return warn(of.at->line, of.path(), std::move(reason)); }

bool reader::warn(std::uint32_t line, std::string path, std::string reason) {
  if (warnings_ != nullptr)
    warnings_->push_back({fmt::format("{}:{}: {}", file_, line, object_), std::move(path), std::move(reason)});
  return true;
}

bool reader::ignore(std::string_view key, const place& of, std::initializer_list<std::string_view> known) {
  if (std::find(known.begin(), known.end(), key) != known.end()) return true;
  return warn(of, "there is no such field; it is left out");
}

bool reader::is(const place& of, value_kind kind, std::string_view what) {
  if (of.at->kind == kind) return true;
  const bool unquoted =
      kind == value_kind::text && (of.at->kind == value_kind::number || of.at->kind == value_kind::boolean);
  return fail(errc::malformed, of,
              fmt::format("has to be {}, not {}{}", what, article(of.at->kind),
                          unquoted ? fmt::format(" (\"{}\" in quotes is text)", of.at->text) : std::string{}));
}

bool reader::text(const place& of, std::string& out) {
  if (!is(of, value_kind::text, "text")) return false;
  out = of.at->text;
  return true;
}

bool reader::texts(const place& of, std::vector<std::string>& out) {
  return list(of, out, [&](const place& item, std::string& one) { return text(item, one); });
}

bool reader::boolean(const place& of, bool& out) {
  if (!is(of, value_kind::boolean, "true or false")) return false;
  out = of.at->text == "true";
  return true;
}

bool reader::whole(const place& of, std::int64_t least, std::int64_t most, std::int64_t& out) {
  if (!is(of, value_kind::number, "a whole number")) return false;
  const std::string& digits = of.at->text;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  const bool all = end == digits.data() + digits.size();
  if (wrong == std::errc{} && !all) return fail(errc::malformed, of, fmt::format("{} is no whole number", digits));
  if (wrong != std::errc{} || out < least || out > most) {
    return fail(errc::out_of_range, of, fmt::format("{} is not in {} to {}", digits, least, most));
  }
  return true;
}

bool reader::amount(const place& of, quantity& out) {
  if (of.at->kind != value_kind::text && of.at->kind != value_kind::number)
    return is(of, value_kind::text, "a quantity");
  const auto parsed = quantity::parse(of.at->text);
  if (!parsed)
    return fail(parsed.error().code, of, fmt::format("\"{}\" is no quantity: {}", of.at->text, parsed.error().reason));
  out = *parsed;
  return true;
}

bool reader::amounts(const place& of, resource_list& out) {
  return entries(of, [&](std::string_view name, const place& v) {
    quantity& made = out[std::string{name}] = {};
    return v.at->kind == value_kind::null || amount(v, made);
  });
}

bool reader::texts_by_name(const place& of, label_map& out) {
  return entries(of, [&](std::string_view name, const place& v) {
    std::string& made = out[std::string{name}] = {};
    return v.at->kind == value_kind::null || text(v, made);
  });
}

bool reader::time(const place& of, instant& out) {
  std::string word;
  if (!text(of, word)) return false;
  const auto wrong = [&] { return fail(errc::malformed, of, "\"" + word + "\" is no time like 2026-01-31T12:00:00Z"); };
  const auto number = [&](std::size_t from, std::size_t size, int& into) {
    if (from + size > word.size()) return false;
    const auto [end, bad] = std::from_chars(word.data() + from, word.data() + from + size, into);
    return bad == std::errc{} && end == word.data() + from + size && into >= 0;
  };
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!number(0, 4, year) || !number(5, 2, month) || !number(8, 2, day) || !number(11, 2, hour) ||
      !number(14, 2, minute) || !number(17, 2, second) || word[4] != '-' || word[7] != '-' ||
      (word[10] != 'T' && word[10] != 't') || word[13] != ':' || word[16] != ':')
    return wrong();
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  // What nanoseconds in 64 bits can say.
  if (!date.ok() || hour > 23 || minute > 59 || second > 60 || year < 1678 || year > 2261) return wrong();
  instant at = std::chrono::sys_days{date}.time_since_epoch();
  at += std::chrono::hours{hour} + std::chrono::minutes{minute} + std::chrono::seconds{second};
  std::size_t next = 19;
  if (next < word.size() && word[next] == '.') {
    std::int64_t unit = 100'000'000;
    const std::size_t first = ++next;
    for (; next < word.size() && word[next] >= '0' && word[next] <= '9'; ++next, unit /= 10)
      at += std::chrono::nanoseconds{unit * (word[next] - '0')};
    if (next == first) return wrong();
  }
  if (next + 1 == word.size() && (word[next] == 'Z' || word[next] == 'z')) return out = at, true;
  int hours = 0, minutes = 0;
  if (next + 6 != word.size() || (word[next] != '+' && word[next] != '-') || word[next + 3] != ':' ||
      !number(next + 1, 2, hours) || !number(next + 4, 2, minutes))
    return wrong();
  const instant ahead = std::chrono::hours{hours} + std::chrono::minutes{minutes};
  out = word[next] == '+' ? at - ahead : at + ahead;
  return true;
}

/// Any program may write annotations: only those about groups, queues and devices are kept.
static bool read_annotations(reader& read, const place& of, label_map& out) {
  static constexpr std::string_view known[] = {"gang.scheduling.koordinator.sh/",
                                               "kueue.x-k8s.io/",
                                               "preemption-toleration.scheduling.x-k8s.io/",
                                               "volcano.sh/",
                                               "scheduling.volcano.sh/",
                                               "scheduling.k8s.io/group-name",
                                               "pod-group-name",
                                               "alpha.jobset.sigs.k8s.io/",
                                               "leaderworkerset.sigs.k8s.io/",
                                               "gangsched.dev/",
                                               "kubernetes.io/config.mirror",
                                               "controller.kubernetes.io/pod-deletion-cost",
                                               "kai.scheduler/",
                                               "quota.scheduling.koordinator.sh/",
                                               "yunikorn.apache.org/",
                                               "hivedscheduler.microsoft.com/",
                                               "scheduling.koordinator.sh/",
                                               "node.koordinator.sh/",
                                               "kubelet.koordinator.sh/",
                                               "alibabacloud.com/gpu-milli",
                                               "alibabacloud.com/gpu-count",
                                               "alibabacloud.com/gpu-card-model",
                                               "hami.io/gpu-scheduler-policy",
                                               "hami.io/node-scheduler-policy",
                                               "nvidia.com/use-gputype",
                                               "nvidia.com/nouse-gputype",
                                               "nvidia.com/use-gpuuuid",
                                               "nvidia.com/nouse-gpuuuid",
                                               "gpu-fraction",
                                               "gpu-fraction-num-devices",
                                               "gpu-memory"};
  return read.entries(of, [&](std::string_view key, const place& v) {
    const bool ours = std::ranges::any_of(
        known, [&](std::string_view one) { return one.ends_with('/') ? key.starts_with(one) : key == one; });
    if (!ours) return true;
    std::string& made = out[std::string{key}];
    return v.at->kind == value_kind::null || read.text(v, made);
  });
}

std::string owner_kind(std::string_view kind, std::string_view version) {
  const std::string_view group = version.substr(0, std::min(version.find('/'), version.size()));
  const bool other = version.find('/') != std::string_view::npos && group != "batch";
  if (!other || (kind != "Job" && kind != "CronJob")) return std::string{kind};
  return fmt::format("{}.{}", kind, group);
}

bool read_meta(reader& read, const place& of, object_meta& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, out.name);
    if (key == "namespace") return read.text(v, out.ns);
    if (key == "labels") return read.texts_by_name(v, out.labels);
    if (key == "annotations") return read_annotations(read, v, out.annotations);
    if (key == "deletionTimestamp") return read.time(v, out.deleted.emplace());
    if (key == "ownerReferences") {
      return read.items(v, [&](const place& owner) {
        bool controls = false;
        std::string kind, name, version;
        const bool fine = read.fields(owner, [&](std::string_view field, const place& w) {
          if (field == "controller") return read.boolean(w, controls);
          if (field == "kind") return read.text(w, kind);
          if (field == "name") return read.text(w, name);
          if (field == "apiVersion") return read.text(w, version);
          return read.ignore(field, w, {"uid", "blockOwnerDeletion"});
        });
        if (fine && controls) out.owner_kind = owner_kind(kind, version), out.owner_name = name;
        return fine;
      });
    }
    return read.ignore(key, v,
                       {"uid", "generateName", "creationTimestamp", "deletionGracePeriodSeconds", "finalizers",
                        "generation", "managedFields", "resourceVersion", "selfLink"});
  });
}

bool read_name(reader& read, const place& of, std::string& out) {
  object_meta meta;
  if (!read_meta(read, of, meta)) return false;
  out = std::move(meta.name);
  return true;
}

}  // namespace detail
}  // namespace gangsched::inline GANGSCHED_ABI::kube
