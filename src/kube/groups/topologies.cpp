#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ranges>
#include <regex>

#include "gangsched/model/label_selector.hpp"
#include "gangsched/src/kube/documents/trees.hpp"
#include "gangsched/src/kube/groups/groups.hpp"

// What explains where groups want to be: Kueue's and KAI's Topology, Volcano's HyperNode, Koordinator's
// ClusterNetworkTopology. All become labels of nodes, which is what the model knows.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

bool asked_topology::agrees(const asked_topology& other) const {
  const auto same_slice = [](const topology_slice& a, const topology_slice& b) {
    return a.key == b.key && a.size == b.size;
  };
  const auto same_layer = [](const asked_layer& a, const asked_layer& b) {
    return a.name == b.name && a.must == b.must && a.multiple == b.multiple;
  };
  return required == other.required && preferred == other.preferred && unconstrained == other.unconstrained &&
         std::ranges::equal(slices, other.slices, same_slice) && soft_tiers == other.soft_tiers &&
         highest_tier == other.highest_tier && highest_tier_name == other.highest_tier_name &&
         std::ranges::equal(layers, other.layers, same_layer);
}

bool read_topology(reader& read, const place& of, topology_levels& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_name(read, v, out.name);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field != "levels") return read.ignore(field, w, {});
      return read.list(w, out.labels, [&](const place& item, std::string& one) {
        return read.fields(item, [&](std::string_view word, const place& x) {
          return word == "nodeLabel" ? read.text(x, one) : read.ignore(word, x, {});
        });
      });
    });
  });
}

/// A pattern of Go's that ECMAScript understands the same way, to be searched for as Volcano does it: `^` and `$` are its writer's.
/// Errors: `unknown` for what only Go has, else what is wrong with it.
static result<std::regex> name_pattern(const std::string& text) {
  constexpr std::size_t longest = 1024;
  const auto wrong = [](errc code, std::string reason) { return error{code, {}, {}, std::move(reason)}; };
  if (text.empty()) return wrong(errc::malformed, "is empty");
  if (text.size() > longest) return wrong(errc::out_of_range, fmt::format("is longer than {} characters", longest));
  const std::string_view all = text;
  constexpr std::size_t most = 1000;  // Go's bound for one; for all together, because each state is written out
  std::size_t repeats = 1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t count = 0;
    for (std::size_t at = i + 1; all[i] == '{' && at < all.size() && all[at] >= '0' && all[at] <= '9'; ++at) {
      count = std::min(10 * count + static_cast<std::size_t>(all[at] - '0'), most + 1);
    }
    if (const std::size_t comma = all.find(',', i); all[i] == '{' && comma < all.find('}', i)) {
      std::size_t upper = 0;
      for (std::size_t at = comma + 1; at < all.size() && all[at] >= '0' && all[at] <= '9'; ++at) {
        upper = std::min(10 * upper + static_cast<std::size_t>(all[at] - '0'), most + 1);
      }
      count = std::max(count, upper);
    }
    if (count > 1) repeats = std::min(repeats * count, most + 1);
    if (repeats > most) return wrong(errc::unknown, fmt::format("\"{}\" repeats more than {} times", text, most));
    if (all[i] == '(' && all.substr(i + 1).starts_with('?') && !all.substr(i + 1).starts_with("?:"))
      return wrong(errc::unknown, fmt::format("\"{}\" is not understood", all.substr(i, 3)));
    if (all[i] != '\\') continue;
    const char next = ++i < all.size() ? all[i] : '\0';
    const bool word = (next >= '0' && next <= '9') || (next >= 'A' && next <= 'Z') || (next >= 'a' && next <= 'z');
    if (word && std::string_view{"dDwWsSbBfnrtv"}.find(next) == std::string_view::npos)
      return wrong(errc::unknown, fmt::format("\"\\{}\" is not understood", next));
  }
  auto how = std::regex::ECMAScript | std::regex::nosubs;
#ifdef __GLIBCXX__
  how |= std::regex_constants::__polynomial;  // no pattern takes forever; libc++ gives up on those
#endif
  try {
    return std::regex{text, how};
  } catch (const std::regex_error&) {
    return wrong(errc::malformed, fmt::format("\"{}\" is no regular expression", text));
  }
}

static bool found_in(const std::string& name, const std::regex& pattern) {
  try {
    return std::regex_search(name, pattern);
  } catch (const std::regex_error&) {
    return false;
  }
}

static bool read_pattern(reader& read, const place& of, std::string& out) {
  if (!read.text(of, out)) return false;
  const auto made = name_pattern(out);
  if (made) return true;
  if (made.error().code != errc::unknown) return read.fail(made.error().code, of, made.error().reason);
  out.clear();
  return read.warn(of, made.error().reason + "; its members are left out");
}

static bool read_hyper_node_member(reader& read, const place& of, hyper_node_member& out) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "type") return read.word(v, out.is_node, {{"Node", true}, {"HyperNode", false}});
    if (key != "selector") return read.ignore(key, v, {});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "labelMatch") return read_label_selector(read, w, out.labels.emplace());
      const bool exact = field == "exactMatch";
      if (!exact && field != "regexMatch") return read.ignore(field, w, {});
      return read.fields(w, [&](std::string_view word, const place& x) {
        if (word == "name" && exact) return read.text(x, out.exact);
        return word == "pattern" && !exact ? read_pattern(read, x, out.pattern) : read.ignore(word, x, {});
      });
    });
  });
  if (!fine || out.is_node || out.pattern.empty()) return fine;
  return read.warn(of, "HyperNodes are members by their names, not by a pattern; it is left out");
}

bool read_hyper_node(reader& read, const place& of, hyper_node& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_name(read, v, out.name);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "tier") return read.integer(w, out.tier, 1, 100);
      if (field == "tierName") return read.text(w, out.tier_name);
      if (field != "members") return read.ignore(field, w, {});
      return read.list(w, out.members, [&](const place& item, hyper_node_member& one) {
        return read_hyper_node_member(read, item, one);
      });
    });
  });
}

bool read_network_topology(reader& read, const place& of, std::vector<network_layer>& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "metadata", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field != "networkTopologySpec") return read.ignore(field, w, {});
      return read.list(w, out, [&](const place& item, network_layer& one) {
        return read.fields(item, [&](std::string_view word, const place& x) {
          if (word == "topologyLayer") return read.text(x, one.name);
          if (word == "parentTopologyLayer") return read.text(x, one.parent);
          if (word != "labelKey") return read.ignore(word, x, {});
          std::vector<std::string> keys;
          if (!read.texts(x, keys)) return false;
          if (keys.size() > 1) read.warn(x, "a layer is one label here: the first is read");
          if (!keys.empty()) one.label = keys.front();
          return true;
        });
      });
    });
  });
}

namespace {

/// A name as the value of a label: names may be longer, and are told apart by letters that follow from all of them then.
std::string short_label(const std::string& name) {
  constexpr std::size_t longest = 63, letters = 10;
  if (name.size() <= longest) return name;
  std::uint64_t hash = 0xcbf29ce484222325u;
  add_to_hash(hash, leaf(value_kind::text, name, 0));
  return name.substr(0, longest - letters - 1) + "-" + safe_letters(hash, letters);
}

/// Which nodes a HyperNode comes to, as labels of the nodes.
class hyper_node_labels {
 public:
  hyper_node_labels(const std::vector<hyper_node>& all, manifests& into) : all_(&all), into_(&into) {
    for (std::size_t i = 0; i < all.size(); ++i) by_name_.emplace(all[i].name, i);
    for (std::size_t i = 0; i < into.nodes.size(); ++i) nodes_.emplace(into.nodes[i].spec.name, i);
    members_.resize(all.size());
    known_.resize(all.size());
  }

  static std::string key_of(std::int32_t tier) { return fmt::format("topology.volcano.sh/tier-{}", tier); }
  std::optional<error> run() {
    for (std::size_t i = 0; i < all_->size(); ++i) {
      const hyper_node& one = (*all_)[i];
      if (auto wrong = gather(i)) return wrong;
      const std::string key = key_of(one.tier), name = short_label(one.name);
      for (const std::size_t node : members_[i]) {
        const auto [at, added] = into_->nodes[node].spec.labels.emplace(key, name);
        if (added || at->second == name) continue;
        return error{
            errc::malformed, told(one), "spec.members",
            fmt::format("node \"{}\" is in \"{}\" of tier {} too", into_->nodes[node].spec.name, at->second, one.tier)};
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::string told(const hyper_node& one) const {
    return where(*into_, one.from, "HyperNode", {}, one.name);
  }

  [[nodiscard]] error too_much(const hyper_node& one) const {
    return {errc::out_of_range, told(one), "spec.members",
            fmt::format("nodes would be looked at more than {} times", most_looks)};
  }

  /// Tiers fall on the way down, so that it ends.
  std::optional<error> gather(std::size_t at) {
    const hyper_node& one = (*all_)[at];
    if (known_[at]) return std::nullopt;
    for (const hyper_node_member& member : one.members) {
      if (!member.is_node) {
        const auto below = by_name_.find(member.exact);
        if (below == by_name_.end()) continue;  // it may be elsewhere
        if (const hyper_node& inner = (*all_)[below->second]; inner.tier >= one.tier) {
          return error{errc::malformed, told(one), "spec.members",
                       fmt::format("\"{}\" is of tier {}, which is not below {}", inner.name, inner.tier, one.tier)};
        }
        if (auto wrong = gather(below->second)) return wrong;
        const std::set<std::size_t>& theirs = members_[below->second];
        looked_at_ += theirs.size();
        if (looked_at_ > most_looks) return too_much(one);
        members_[at].insert(theirs.begin(), theirs.end());
      } else if (member.labels || !member.pattern.empty()) {
        looked_at_ += into_->nodes.size();
        if (looked_at_ > most_looks) return too_much(one);
        if (member.pattern.empty()) {
          for (std::size_t i = 0; i < into_->nodes.size(); ++i)
            if (matches(*member.labels, into_->nodes[i].spec.labels)) members_[at].insert(i);
          continue;
        }
        const auto pattern = name_pattern(member.pattern);  // it was one when it was read
        for (std::size_t i = 0; pattern && i < into_->nodes.size(); ++i)
          if (found_in(into_->nodes[i].spec.name, *pattern)) members_[at].insert(i);
      } else if (const auto node = nodes_.find(member.exact); node != nodes_.end()) {
        members_[at].insert(node->second);
      }
    }
    known_[at] = true;
    return std::nullopt;
  }

  static constexpr std::size_t most_looks = 20'000'000;  // microseconds each

  const std::vector<hyper_node>* all_;
  manifests* into_;
  std::size_t looked_at_ = 0;
  std::map<std::string, std::size_t> by_name_, nodes_;
  std::vector<std::set<std::size_t>> members_;
  std::vector<bool> known_;
};

/// The levels of Topologies as labels of nodes that name one domain each. A level's own label does, unless two domains of the level above
/// have a value of it in common ("rack-1" in each block): then nodes get one more label, with the values of all levels down to this one.
class nested_levels {
 public:
  explicit nested_levels(manifests& into) : into_(&into) {}

  /// The label for the level @p at of @p of.
  const std::string& key(const topology_levels& of, std::size_t at) {
    const auto [made, added] = keys_.try_emplace({of.name, at}, of.labels[at]);
    if (added && at > 0 && repeats(of, at)) {
      made->second = "gangsched.dev/" + short_label(fmt::format("topology-{}-{}", at, of.name));
      add_labels(of, at, made->second);
    }
    return made->second;
  }

 private:
  using path = std::vector<std::string_view>;

  /// The values of the levels down to @p at, or none if the node lacks one (an empty value is none).
  static path path_of(const topology_levels& of, std::size_t at, const node_spec& node) {
    path values;
    for (std::size_t i = 0; i <= at; ++i) {
      const auto found = node.labels.find(of.labels[i]);
      if (found == node.labels.end() || found->second.empty()) return {};
      values.push_back(found->second);
    }
    return values;
  }
  [[nodiscard]] bool repeats(const topology_levels& of, std::size_t at) const {
    std::map<std::string_view, path> known;
    return std::ranges::any_of(into_->nodes, [&](const node_manifest& node) {
      const path mine = path_of(of, at, node.spec);
      return !mine.empty() && known.try_emplace(mine.back(), mine).first->second != mine;
    });
  }
  void add_labels(const topology_levels& of, std::size_t at, const std::string& key) {
    std::map<std::vector<std::string>, std::string> values;
    std::set<std::string> taken;
    for (node_manifest& node : into_->nodes) {
      const path mine = path_of(of, at, node.spec);
      if (mine.empty()) continue;
      const auto [value, added] = values.try_emplace({mine.begin(), mine.end()});
      std::string joined;
      for (const std::string_view part : mine) joined.append(joined.empty() ? "" : ".").append(part);
      while (added && !taken.insert(short_label(joined)).second) joined += ".2";  // "c" in "a.b" is not "b.c" in "a"
      if (added) value->second = short_label(joined);
      node.spec.labels[key] = value->second;
    }
  }

  manifests* into_;
  std::map<std::pair<std::string, std::size_t>, std::string> keys_;
};

class topology_resolver {
 public:
  topology_resolver(manifests& into, const topology_objects& objects)
      : into_(&into), objects_(&objects), nested_levels_(into) {
    for (const hyper_node& one : objects.hyper_nodes) tiers_.emplace(one.tier, one.tier_name);
  }

  std::optional<error> one(group_draft& draft) {
    const asked_topology& asks = draft.asks;
    draft_ = &draft;
    group_topology& to = draft.made.spec.topology;
    if (auto wrong = nested(asks)) return wrong;
    to.slices = asks.slices;
    if (asks.unconstrained) to.choice = domain_choice::least_free;
    if (auto wrong = levels(asks, to)) return wrong;
    if (asks.soft_tiers || asks.highest_tier || !asks.highest_tier_name.empty()) {
      if (auto wrong = tiers(asks, to)) return wrong;
    }
    if (!asks.layers.empty()) layers(asks, to);
    for (std::string& key : to.within) key = nested_key(key);
    for (topology_slice& slice : to.slices) slice.key = nested_key(slice.key);
    return std::nullopt;
  }

 private:
  /// The label by which the nodes of one domain are found: @p label, unless it is a level of the Topology and names several.
  std::string nested_key(const std::string& label) {
    for (const topology_levels& one : objects_->levels) {
      if (!draft_->asks.topology.empty() && one.name != draft_->asks.topology) continue;
      const auto at = std::ranges::find(one.labels, label);
      if (at != one.labels.end()) return nested_levels_.key(one, static_cast<std::size_t>(at - one.labels.begin()));
    }
    return label;
  }
  [[nodiscard]] std::string told() const {
    const group_manifest& made = draft_->made;
    return where(*into_, made.from, made.kind, made.spec.ns, made.spec.name);
  }
  error wrong(std::string reason) const { return {errc::unknown, told(), draft_->asks.field, std::move(reason)}; }
  void warn(std::string reason) { into_->warnings.push_back({told(), draft_->asks.field, std::move(reason)}); }

  /// @p label and the levels above it, the narrowest first.
  result<std::vector<std::string>> upward_from(const std::string& label) {
    const asked_topology& asks = draft_->asks;
    std::vector<std::string> all{label};
    const topology_levels* found = nullptr;
    for (const topology_levels& one : objects_->levels) {
      if (!asks.topology.empty() && one.name != asks.topology) continue;
      const auto at = std::ranges::find(one.labels, label);
      if (at == one.labels.end()) {
        if (!asks.topology.empty())
          return wrong(fmt::format("the Topology \"{}\" has no level \"{}\"", one.name, label));
        continue;
      }
      if (found != nullptr && found->labels != one.labels) {
        warn(fmt::format("\"{}\" is a level of the Topologies \"{}\" and \"{}\"; the first counts", label, found->name,
                         one.name));
        break;
      }
      if (found == nullptr) all.assign(std::make_reverse_iterator(at + 1), one.labels.rend());
      found = &one;
    }
    if (found == nullptr && !asks.topology.empty())
      warn(fmt::format("no Topology \"{}\" in the files: the levels above \"{}\" are unknown", asks.topology, label));
    return all;
  }

  /// Layers of slices stand in the order of a Topology's levels, if one has both.
  std::optional<error> nested(const asked_topology& asks) const {
    for (std::size_t i = 1; i < asks.slices.size(); ++i) {
      const std::string &outer = asks.slices[i - 1].key, &inner = asks.slices[i].key;
      for (const topology_levels& one : objects_->levels) {
        const auto above = std::ranges::find(one.labels, outer), below = std::ranges::find(one.labels, inner);
        if (above == one.labels.end() || below == one.labels.end() || above < below) continue;
        return error{errc::malformed, told(), fmt::format("{}[{}].topology", asks.slice_field, i),
                     fmt::format("\"{}\" is not below \"{}\" in the Topology \"{}\"", inner, outer, one.name)};
      }
    }
    return std::nullopt;
  }

  std::optional<error> levels(const asked_topology& asks, group_topology& to) {
    if (asks.preferred.empty() && asks.required.empty()) return std::nullopt;
    auto up = upward_from(asks.preferred.empty() ? asks.required : asks.preferred);
    if (!up) return std::move(up).error();
    to.within = std::move(*up);
    to.or_anywhere = asks.required.empty();
    if (asks.preferred.empty()) {
      to.within.resize(1);
    } else if (!asks.required.empty()) {  // from the one up to the other
      const auto last = std::ranges::find(to.within, asks.required);
      if (last != to.within.end())
        to.within.erase(last + 1, to.within.end());
      else if (to.within.size() == 1)
        to.within.push_back(asks.required);
      else
        return wrong(fmt::format("the required level \"{}\" is not above the preferred one", asks.required));
    }
    return std::nullopt;
  }

  /// The tightest tier that has room: up to the highest one allowed, or up to all nodes.
  std::optional<error> tiers(const asked_topology& asks, group_topology& to) {
    if (tiers_.empty()) {
      warn("no HyperNode is in the files, so that there are no tiers; it is left out");
      return std::nullopt;
    }
    std::optional<std::int32_t> highest = asks.highest_tier;
    if (!asks.highest_tier_name.empty()) {
      for (const auto& [tier, name] : tiers_)
        if (name == asks.highest_tier_name) highest = tier;
      if (!highest) return wrong(fmt::format("no tier is called \"{}\"", asks.highest_tier_name));
    }
    for (const auto& [tier, name] : tiers_) {
      if (!asks.soft_tiers && highest && tier > *highest) break;
      const std::string key = hyper_node_labels::key_of(tier);
      if (to.within.empty() || to.within.back() != key) to.within.push_back(key);
    }
    if (to.within.empty()) return wrong(fmt::format("no HyperNode is of tier {} or below", *highest));
    to.or_anywhere = asks.soft_tiers || !highest;
    return std::nullopt;
  }

  /// Layers from the deepest one up to the deepest that members must gather in.
  void layers(const asked_topology& asks, group_topology& to) {
    constexpr std::size_t deepest = 64;  // whatever refers to itself
    struct known {
      std::string label;
      std::size_t depth;
      const asked_layer* asked;
    };
    std::vector<known> found;
    for (const asked_layer& one : asks.layers) {
      std::size_t depth = 0;
      const network_layer* at = find_layer(one.name);
      // The lowest layer needs no label: it is the node.
      const std::string label = at != nullptr && at->label.empty() ? "kubernetes.io/hostname"
                                : at != nullptr                    ? at->label
                                                                   : "";
      if (at == nullptr) {
        warn(fmt::format("no ClusterNetworkTopology in the files has the layer \"{}\"; it is left out", one.name));
        continue;
      }
      for (; at != nullptr && depth < deepest; at = find_layer(at->parent)) ++depth;
      found.push_back({label, depth, &one});
    }
    std::ranges::stable_sort(found, std::greater{}, &known::depth);
    if (found.empty()) return;
    to.or_anywhere = true;
    for (const known& one : found) {
      to.within.push_back(one.label);
      if (one.asked->must) {
        to.or_anywhere = false;
        break;
      }
    }
    for (const known& one : found | std::views::reverse)
      if (one.asked->multiple > 1) to.slices.push_back({one.label, one.asked->multiple});
  }

  [[nodiscard]] const network_layer* find_layer(const std::string& name) const {
    const auto found = std::ranges::find(objects_->layers, name, &network_layer::name);
    return name.empty() || found == objects_->layers.end() ? nullptr : &*found;
  }

  manifests* into_;
  const topology_objects* objects_;
  nested_levels nested_levels_;
  std::set<std::pair<std::int32_t, std::string>> tiers_;
  group_draft* draft_ = nullptr;
};

}  // namespace

std::optional<error> resolve_topologies(manifests& into, group_objects& groups) {
  if (!groups.topologies.hyper_nodes.empty()) {
    if (auto wrong = hyper_node_labels{groups.topologies.hyper_nodes, into}.run()) return wrong;
  }
  topology_resolver resolver{into, groups.topologies};
  for (group_draft& one : groups.groups) {
    if (one.asks.empty()) continue;
    if (auto wrong = resolver.one(one)) return wrong;
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
