#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "gangsched/src/kube/documents/annotations.hpp"
#include "gangsched/src/kube/queues/queues.hpp"

// The queues of Volcano (scheduling.volcano.sh/v1beta1) and of KAI (scheduling.run.ai/v2), and the ElasticQuotas of Koordinator
// (scheduling.sigs.k8s.io/v1alpha1) and of scheduler-plugins (scheduling.x-k8s.io/v1alpha1).
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

queue_quota& quota_of_all(queue_spec& of) { return of.quotas.empty() ? of.quotas.emplace_back() : of.quotas.front(); }

std::vector<std::string_view> parts_of(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// A number above 0 as Go's ParseFloat takes it.
std::optional<double> weight_in(std::string_view text) {
  double number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc{} || end != text.data() + text.size() || !(number > 0) || !std::isfinite(number))
    return std::nullopt;
  return number;
}

/// `volcano.sh/hierarchy` and its weights.
bool read_path(reader& read, const place& of, const label_map& annotations, queue_path& out) {
  const auto named = annotations.find("volcano.sh/hierarchy"),
             weighed = annotations.find("volcano.sh/hierarchy-weights");
  if (named == annotations.end() && weighed == annotations.end()) return true;
  const spot at = find_spot(of, {"annotations", "volcano.sh/hierarchy"});
  if (named == annotations.end() || weighed == annotations.end())
    return read.fail(errc::malformed, at.line, at.path, "goes with volcano.sh/hierarchy-weights");
  const auto parts = parts_of(named->second, '/'), weights = parts_of(weighed->second, '/');
  constexpr std::size_t deepest = 1000;
  if (parts.size() > deepest)
    return read.fail(errc::out_of_range, at.line, at.path, fmt::format("has more than {} parts", deepest));
  if (parts.size() != weights.size())
    return read.fail(errc::malformed, at.line, at.path,
                     fmt::format("has {} parts, and its weights are {}", parts.size(), weights.size()));
  if (parts.front() != "root") out.parts.emplace_back("root"), out.weights.push_back(1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto weight = weight_in(weights[i]);
    if (!weight)
      return read.fail(errc::malformed, at.line, at.path + "-weights",
                       fmt::format("\"{}\" is no number above 0", weights[i]));
    if (parts[i].empty()) return read.fail(errc::malformed, at.line, at.path, "has an empty part");
    out.parts.emplace_back(parts[i]);
    out.weights.push_back(*weight);
  }
  return true;
}

/// {quota, overQuotaWeight, limit}, of which -1 is no bound and what is absent 0.
struct kai_resource {
  double quota = 0, weight = 0, limit = 0;
};
bool read_kai_number(reader& read, const place& of, double least, double most, double& out) {
  if (of.at->kind != value_kind::number) return read.fail(errc::malformed, of, "has to be a number");
  const std::string& digits = of.at->text;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (wrong != std::errc{} || end != digits.data() + digits.size() || !(out >= least && out <= most))
    return read.fail(errc::out_of_range, of, fmt::format("{} is not in {} to {}", digits, least, most));
  return true;
}
/// More than any cluster has, and what a quota without bound is: a million queues of it are an amount still.
constexpr double most_kai_units = 1e12;

bool read_kai_resource(reader& read, const place& of, kai_resource& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "quota") return read_kai_number(read, v, -1, most_kai_units, out.quota);
    if (key == "limit") return read_kai_number(read, v, -1, most_kai_units, out.limit);
    if (key == "overQuotaWeight") return read_kai_number(read, v, 0, most_kai_units, out.weight);
    return read.ignore(key, v, {});
  });
}

/// Adds what a queue of KAI has of @p name, of which it counts in @p unit (nanos).
void add_kai_resource(queue_quota& to, const char* name, const kai_resource& from, std::int64_t unit) {
  const auto amount = [&](double units) {
    const double whole = std::floor(units);  // exact, which the product as a double is not
    return quantity::from_nanos(quantity::nanos_t{static_cast<std::int64_t>(whole)} * unit +
                                static_cast<std::int64_t>(std::round((units - whole) * static_cast<double>(unit))));
  };
  double quota = from.quota < 0 ? most_kai_units : from.quota;
  if (from.limit >= 0) to.limit[name] = amount(from.limit), quota = std::min(quota, from.limit);
  to.guaranteed[name] = amount(quota);
  to.weights[name] = from.weight;
}

/// JSON of an annotation: amounts by resource.
bool read_weights(reader& read, const spot& at, const std::string& text, queue_quota& out) {
  resource_list weights;
  if (!read_inside(read, at, text,
                   [&](reader& inner, const place& v) { return read_quota_amounts(inner, v, weights); }))
    return false;
  for (const auto& [name, amount] : weights) out.weights[name] = static_cast<double>(amount.nanos()) / 1e9;
  return true;
}

/// What Koordinator's labels and annotations say of a quota, once its amounts are known.
bool read_koordinator_words(reader& read, const place& meta, const object_meta& words, queue_spec& out) {
  constexpr std::string_view prefix = "quota.scheduling.koordinator.sh/";
  const auto is = [&](const std::string& key, std::string_view what) {
    return key.starts_with(prefix) && std::string_view{key}.substr(prefix.size()) == what;
  };
  queue_quota& quota = quota_of_all(out);
  for (const auto& [name, amount] : quota.limit) quota.weights[name] = static_cast<double>(amount.nanos()) / 1e9;
  for (const auto& [key, text] : words.labels) {
    if (is(key, "parent") && text != "koordinator-root-quota") out.parent = text;
    if (is(key, "allow-lent-resource") && text == "false") {
      for (const auto& [name, amount] : quota.guaranteed) quota.lending_limit[name] = quantity{};
    }
  }
  for (const auto& [key, text] : words.annotations) {
    const spot at = find_spot(meta, {"annotations", key});
    if (is(key, "shared-weight") && !read_weights(read, at, text, quota)) return false;
    if (is(key, "namespaces")) {
      const bool fine = text.empty() || read_inside(read, at, text, [&](reader& inner, const place& v) {
                          return inner.texts(v, out.namespaces);
                        });
      if (!fine) return false;
    }
  }
  if (words.ns == out.name) out.namespaces.push_back(words.ns);  // Koordinator finds it by the pod's namespace
  std::ranges::sort(out.namespaces);
  out.namespaces.erase(std::unique(out.namespaces.begin(), out.namespaces.end()), out.namespaces.end());
  return true;
}

}  // namespace

bool read_quota_amounts(reader& read, const place& of, resource_list& out) {
  return read.fields(of, [&](std::string_view name, const place& v) {
    quantity amount;
    if (!read.amount(v, amount)) return false;
    if (amount.negative()) return read.fail(errc::out_of_range, v, fmt::format("{} is negative", amount.to_string()));
    out[std::string{name}] = amount;
    return true;
  });
}

bool read_volcano_queue(reader& read, const place& of, queue_spec& out, queue_path& path) {
  queue_quota& quota = quota_of_all(out);
  resource_list reserved;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      object_meta meta;
      if (!read_meta(read, v, meta)) return false;
      out.name = std::move(meta.name);
      return read_path(read, v, meta.annotations, path);
    }
    if (key == "status") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        if (field != "state") return true;
        std::string word;
        if (!read.text(w, word)) return false;
        if (word == "Closed" || word == "Closing") out.state = queue_state::hold;
        return true;
      });
    }
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "weight") {
        std::int32_t weight = 1;
        if (!read.integer(w, weight, 0, 65535)) return false;
        out.weight = std::max(1, weight);
        return true;
      }
      if (field == "capability") return read_quota_amounts(read, w, quota.limit);
      if (field == "deserved") return read_quota_amounts(read, w, quota.guaranteed);
      if (field == "guarantee") {
        return read.fields(w, [&](std::string_view word, const place& x) {
          return word == "resource" ? read_quota_amounts(read, x, reserved) : read.ignore(word, x, {});
        });
      }
      if (field == "reclaimable") return read.boolean(w, out.lends_running);
      if (field == "parent") return read.text(w, out.parent);
      if (field == "priority") return read.integer(w, out.priority, 0);
      if (field == "dequeueStrategy")
        return read.word(w, out.heads, {{"traverse", head_rule::best_effort}, {"fifo", head_rule::strict}});
      if (field == "affinity")
        return read.warn(w, "groups of nodes that a queue is bound to are not modelled; it is left out");
      if (field == "extendClusters") return read.warn(w, "other clusters are not modelled; it is left out");
      return read.ignore(field, w, {"type"});
    });
  });
  if (!fine) return false;
  // What is deserved is lent while the queue does not need it; what is reserved never is.
  for (const auto& [name, amount] : reserved) {
    quantity& guaranteed = quota.guaranteed[name];
    guaranteed = std::max(guaranteed, amount);
    quota.lending_limit[name] = quantity::from_nanos(guaranteed.nanos() - amount.nanos(), guaranteed.format());
  }
  for (const auto& [name, amount] : quota.guaranteed) {
    const auto most = quota.limit.find(name);
    if (most == quota.limit.end() || amount <= most->second) continue;
    const bool is_reserved = reserved.contains(name) && reserved.at(name) == amount;
    const spot at = is_reserved ? find_spot(of, {"spec", "guarantee", "resource", name})
                                : find_spot(of, {"spec", "deserved", name});
    return read.fail(errc::out_of_range, at.line, at.path,
                     fmt::format("{} is above the capability {}", amount.to_string(), most->second.to_string()));
  }
  if (!path.parts.empty() && !out.parent.empty()) {
    const spot at = find_spot(of, {"spec", "parent"});
    return read.fail(errc::malformed, at.line, at.path, "and the annotation volcano.sh/hierarchy exclude each other");
  }
  return true;
}

bool read_kai_queue(reader& read, const place& of, queue_spec& out) {
  out.priority = 100;  // KAI's default
  kai_resource gpu, cpu, memory;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_name(read, v, out.name);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "parentQueue") return read.text(w, out.parent);
      if (field == "priority") return read.integer(w, out.priority);
      if (field == "preemptMinRuntime") return read_duration(read, w, "60s", out.preempt_min_runtime);
      if (field == "reclaimMinRuntime") return read_duration(read, w, "60s", out.reclaim_min_runtime);
      if (field == "resources") {
        return read.fields(w, [&](std::string_view word, const place& x) {
          if (word == "gpu") return read_kai_resource(read, x, gpu);
          if (word == "cpu") return read_kai_resource(read, x, cpu);
          if (word == "memory") return read_kai_resource(read, x, memory);
          return read.ignore(word, x, {});
        });
      }
      return read.ignore(field, w, {"displayName"});
    });
  });
  if (!fine) return false;
  queue_quota& quota = quota_of_all(out);
  add_kai_resource(quota, "nvidia.com/gpu", gpu, 1'000'000'000);
  add_kai_resource(quota, "cpu", cpu, 1'000'000);                    // in thousandths
  add_kai_resource(quota, "memory", memory, 1'000'000'000'000'000);  // in 10^6 bytes
  return true;
}

bool read_elastic_quota(reader& read, const place& of, bool of_koordinator, queue_manifest& out) {
  queue_quota& quota = quota_of_all(out.spec);
  object_meta meta;
  const place* words = nullptr;
  std::optional<place> kept;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      words = &kept.emplace(v);
      return read_meta(read, v, meta);
    }
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "min") return read_quota_amounts(read, w, quota.guaranteed);
      if (field == "max") return read_quota_amounts(read, w, quota.limit);
      return read.ignore(field, w, {});
    });
  });
  if (!fine) return false;
  if (meta.name.empty()) return read.fail(errc::malformed, of, "needs metadata.name");
  if (meta.ns.empty()) meta.ns = "default";
  for (const auto& [name, amount] : quota.guaranteed) {
    const auto most = quota.limit.find(name);
    const spot at = find_spot(of, {"spec", "min", name});
    if (most != quota.limit.end() && amount > most->second)
      return read.fail(errc::out_of_range, at.line, at.path,
                       fmt::format("{} is above max, {}", amount.to_string(), most->second.to_string()));
    if (of_koordinator && most == quota.limit.end())
      return read.fail(errc::malformed, at.line, at.path, "is not in max");
  }
  out.ns = meta.ns;
  out.name = meta.name;
  if (of_koordinator) {
    out.spec.name = meta.name;
    out.spec.reclaim = queue_reclaim::never;  // lent until its pods end
    return words == nullptr || read_koordinator_words(read, *words, meta, out.spec);
  }
  out.spec.name = meta.ns + "/" + meta.name;
  out.spec.namespaces = {meta.ns};
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
