#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include "gangsched/src/kube/documents/annotations.hpp"
#include "gangsched/src/kube/queues/queues.hpp"
#include "gangsched/src/kube/queues/yunikorn.hpp"

// YuniKorn's queues.yaml (yunikorn-core, pkg/common/configs): a tree of queues with limits of users and groups, and rules that place pods.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

namespace yk = queues::yunikorn;

constexpr std::size_t most_placement_rules = 100;  // each pod is asked of all of them

/// Names of queues are told apart without case (YuniKorn).
std::string lower(std::string_view text) {
  std::string made{text};
  for (char& c : made)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return made;
}

bool read_scalar(reader& read, const place& of, std::string& out) {
  if (of.at->kind != value_kind::text && of.at->kind != value_kind::number && of.at->kind != value_kind::boolean)
    return read.text(of, out);
  out = of.at->text;
  return true;
}

/// Digits and a suffix; `m` is for vcore only.
bool read_yunikorn_amount(reader& read, const place& of, bool cores, quantity& out) {
  std::string text;
  if (!read_scalar(read, of, text)) return false;
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t'; });
  static constexpr std::string_view suffixes[] = {"",   "k",  "M",  "G",  "T",  "P",  "E",
                                                  "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "m"};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto suffix = std::ranges::find(suffixes, std::string_view{text}.substr(digits));
  const bool known = digits > 0 && suffix != std::end(suffixes) && (*suffix != "m" || cores);
  const auto parsed = known ? quantity::parse(text) : result<quantity>{error{}};
  std::int64_t ignored = 0;
  if (!parsed || !(cores ? parsed->milli_value(ignored) : parsed->value(ignored)))
    return read.fail(errc::malformed, of,
                     fmt::format("\"{}\" is no quantity of YuniKorn's, like 10, 500m (vcore) or 4Gi", of.at->text));
  out = *parsed;
  return true;
}

bool read_yunikorn_amounts(reader& read, const place& of, resource_list& out) {
  return read.fields(of, [&](std::string_view name, const place& v) {
    const bool cores = name == "vcore";
    return read_yunikorn_amount(read, v, cores, out[cores ? "cpu" : std::string{name}]);
  });
}

/// Reads the tree, a queue before those in it.
class yunikorn_reader {
 public:
  yunikorn_reader(reader& read, yunikorn_draft& out) : read_(&read), out_(&out) {}

  bool partition(const place& of) {
    const value* found = of.at->find("queues");
    if (found == nullptr) return read_->fail(errc::malformed, of, "needs queues");
    return read_->fields(of, [&](std::string_view key, const place& v) {
      if (key == "name") return true;
      if (key == "queues") return top(v);
      if (key == "placementrules") {
        if (v.at->items.size() > most_placement_rules)
          return read_->fail(errc::out_of_range, v, fmt::format("has more than {} entries", most_placement_rules));
        return read_->list(v, out_->rules, [&](const place& item, placement_rule& one) { return rule(item, one); });
      }
      if (key == "limits") return limits(v, partition_limits_);
      if (key == "preemption") {
        return read_->fields(v, [&](std::string_view field, const place& w) {
          if (field == "enabled") return read_->boolean(w, preempts_);
          if (field == "quotapreemptionenabled") return read_->boolean(w, quota_preempts_);
          return read_->ignore(field, w, {});
        });
      }
      if (key == "nodesortpolicy") return read_->warn(v, "which node is the best profiles say; it is left out");
      return read_->ignore(key, v, {"usergroupresolver"});
    }) && finish(of);
  }

 private:
  static constexpr std::size_t no_parent = ~std::size_t{0};

  struct bounds {
    resource_list most;              ///< of all on the way up
    std::uint64_t applications = 0;  ///< 0: no bound
    bool gives = true;
  };

  /// One queue called root, or those below it.
  bool top(const place& of) {
    if (of.at->kind == value_kind::list && of.at->items.size() == 1) {
      const value* name = of.at->items.front().find("name");
      if (name != nullptr && lower(name->text) == "root")
        return queue(place{&of.at->items.front(), &of, {}, 0}, no_parent, {}).has_value();
    }
    const std::size_t self = out_->queues.size();
    yunikorn_queue& root = out_->queues.emplace_back();
    root.path = "root";
    root.is_parent = true;
    return children(of, self, {}, nullptr);
  }

  /// @p parent: its place among the queues
  bool children(const place& of, std::size_t parent, const bounds& above, resource_list* guaranteed) {
    std::set<std::string> names;
    return read_->items(of, [&](const place& item) {
      const auto own = queue(item, parent, above);
      if (!own) return false;
      if (guaranteed != nullptr)
        for (const auto& [name, amount] : *own) (*guaranteed)[name] += amount;
      const value* name = item.at->find("name");
      return names.insert(lower(name->text)).second ||
             read_->fail(errc::duplicate, item, "there is a queue of that name already");
    });
  }

  /// What the queue is guaranteed, or what those in it are if it says nothing; none if something is wrong.
  std::optional<resource_list> queue(const place& of, std::size_t parent, bounds above) {
    const bool is_top = parent == no_parent;
    const value* named = of.at->find("name");
    std::string name;
    if (named == nullptr) {
      read_->fail(errc::malformed, of, "needs a name");
      return std::nullopt;
    }
    if (!read_scalar(*read_, place{named, &of, "name"}, name)) return std::nullopt;
    static constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789_:#/@-";
    constexpr std::size_t longest = 64;
    name = lower(name);
    if (name.empty() || name.size() > longest || name.find_first_not_of(allowed) != std::string::npos) {
      read_->fail(errc::malformed, place{named, &of, "name"},
                  fmt::format("\"{}\" is not 1 to {} letters, digits or _ : # / @ -", name, longest));
      return std::nullopt;
    }
    const std::size_t self = out_->queues.size();
    {
      yunikorn_queue made;
      if (!is_top) {
        made.inherit(out_->queues[parent]);
        made.parent = out_->queues[parent].path;
      }
      made.path = is_top ? name : made.parent + "." + name;
      made.line = of.at->line;
      made.is_parent = is_top;
      out_->queues.push_back(std::move(made));
    }
    std::optional<place> below;
    const bool fine = read_->fields(of, [&](std::string_view key, const place& v) {
      yunikorn_queue& made = out_->queues[self];
      if (key == "name") return true;
      if (key == "parent") {
        bool said = false;
        if (!read_->boolean(v, said)) return false;
        made.is_parent = made.is_parent || said;
        return true;
      }
      if (key == "resources") {
        if (is_top) return read_->fail(errc::malformed, v, "the queue root has what all nodes have");
        return resources_of(v, made.guaranteed, made.most);
      }
      if (key == "maxapplications") return applications(v, made.max_applications);
      if (key == "properties") return properties(v, made);
      if (key == "limits") return limits(v, made.limits);
      if (key == "queues") return below.emplace(v), true;
      if (key == "childtemplate") return child_template(v, made.child_template.emplace_back());
      if (key == "submitacl" || key == "adminacl") {
        std::string who;
        if (!read_scalar(*read_, v, who)) return false;
        return key == "adminacl" || who.empty() || who == "*" ||
               read_->warn(v, "who may submit is not asked: everybody may; it is left out");
      }
      return read_->ignore(key, v, {});
    });
    if (!fine || !check_bounds(of, out_->queues[self], above)) return std::nullopt;
    out_->queues[self].gives = above.gives;
    if (below) {
      out_->queues[self].is_parent = true;
      resource_list sum;
      if (!children(*below, self, above, &sum)) return std::nullopt;
      const resource_list& own = out_->queues[self].guaranteed;
      const auto over = [&](const resource_list& bound) {
        return std::ranges::any_of(sum, [&](const auto& one) {
          const auto found = bound.find(one.first);
          return found != bound.end() && one.second > found->second;
        });
      };
      if (over(own) || over(above.most)) {
        read_->fail(errc::out_of_range, *below, "are guaranteed more together than the queue that they are in has");
        return std::nullopt;
      }
      if (own.empty()) return sum;
    }
    return out_->queues[self].guaranteed;
  }

  /// As YuniKorn's validation has it; @p above gets what holds for those below.
  bool check_bounds(const place& of, const yunikorn_queue& one, bounds& above) {
    const auto wrong = [&](std::initializer_list<std::string_view> steps, std::string reason) {
      const spot at = find_spot(of, steps);
      return read_->fail(errc::out_of_range, at.line, at.path, std::move(reason));
    };
    for (const auto& [name, amount] : one.most) {
      const auto bound = above.most.find(name);
      if (bound != above.most.end() && amount > bound->second)
        return wrong({"resources", "max"}, fmt::format("{}: {} is above {}, the max on the way up", name,
                                                       amount.to_string(), bound->second.to_string()));
      above.most[name] = amount;
    }
    for (const auto& [name, amount] : one.guaranteed) {
      const auto bound = one.most.find(name);
      if (bound != one.most.end() && amount > bound->second)
        return wrong({"resources", "guaranteed"},
                     fmt::format("{}: {} is above max, {}", name, amount.to_string(), bound->second.to_string()));
    }
    if (above.applications != 0 && (one.max_applications == 0 || one.max_applications > above.applications))
      return wrong({"maxapplications"},
                   fmt::format("is not 1 to {}, as the queue above it has it", above.applications));
    if (one.max_applications != 0) above.applications = one.max_applications;
    if (one.preemption != yk::preemption_policy::allow) above.gives = one.preemption == yk::preemption_policy::fence;
    return true;
  }

  bool resources_of(const place& of, resource_list& guaranteed, resource_list& most) {
    return read_->fields(of, [&](std::string_view key, const place& v) {
      if (key == "guaranteed") return read_yunikorn_amounts(*read_, v, guaranteed);
      if (key == "max") return read_yunikorn_amounts(*read_, v, most);
      return read_->ignore(key, v, {});
    });
  }

  bool applications(const place& of, std::uint32_t& out) {
    return read_->integer(of, out, 0, std::numeric_limits<std::int32_t>::max());
  }

  bool properties(const place& of, yunikorn_queue& out) {
    return read_->fields(of, [&](std::string_view key, const place& v) {
      std::string word;
      if (!read_scalar(*read_, v, word)) return false;
      const auto no = [&](std::string_view expected) {
        return read_->fail(errc::malformed, v, fmt::format("\"{}\" is not {}", word, expected));
      };
      if (key == "application.sort.policy") {
        if (word != "fifo" && word != "fair" && word != "stateaware") return no("one of fifo, fair, stateaware");
        out.order = word == "fair" ? yk::application_order::fair : yk::application_order::fifo;
        return word != "stateaware" || read_->warn(v, "is fifo, as in YuniKorn since 1.5");
      }
      if (key == "application.sort.priority") {
        if (word != "enabled" && word != "disabled") return no("one of enabled, disabled");
        out.priority_first = word == "enabled";
        return true;
      }
      if (key == "priority.policy") {
        if (word != "default" && word != "fence") return no("one of default, fence");
        out.priority = word == "fence" ? yk::priority_policy::fence : yk::priority_policy::pass;
        return true;
      }
      if (key == "priority.offset") {
        const auto [end, bad] = std::from_chars(word.data(), word.data() + word.size(), out.priority_offset);
        return (bad == std::errc{} && end == word.data() + word.size()) || no("a whole number of 32 bits");
      }
      if (key == "preemption.policy") {
        if (word != "default" && word != "fence" && word != "disabled") return no("one of default, fence, disabled");
        out.preemption = word == "default" ? yk::preemption_policy::allow
                         : word == "fence" ? yk::preemption_policy::fence
                                           : yk::preemption_policy::disabled;
        return true;
      }
      const auto delay = parse_duration(word);
      const auto duration = [&](instant& to, instant least) {
        if (!delay || *delay < least) return no("a duration like 30s");
        to = *delay;
        return true;
      };
      if (key == "preemption.delay") return duration(out.preemption_delay, instant{1});
      if (key == "quota.preemption.delay") return duration(out.quota_preemption_delay, instant::zero());
      if (key == "application.unschedasks.backoff.delay") {
        const bool is_good = delay && *delay > instant::zero();
        out.backoff = is_good ? *delay : yunikorn_queue{}.backoff;
        return is_good || read_->warn(v, fmt::format("\"{}\" is no duration above 0; it is 30s, the default", word));
      }
      if (key == "application.unschedasks.backoff") {
        const auto [end, bad] = std::from_chars(word.data(), word.data() + word.size(), out.backoff_after);
        if (bad == std::errc::result_out_of_range) out.backoff_after = std::numeric_limits<std::uint32_t>::max();
        return (bad != std::errc::invalid_argument && end == word.data() + word.size()) ||
               no("a whole number from 0 upwards");
      }
      return read_->ignore(key, v, {});
    });
  }

  bool child_template(const place& of, yunikorn_queue& out) {
    return read_->fields(of, [&](std::string_view key, const place& v) {
      if (key == "maxapplications") return applications(v, out.max_applications);
      if (key == "properties") return properties(v, out);
      if (key == "resources") return resources_of(v, out.guaranteed, out.most);
      return read_->ignore(key, v, {});
    });
  }

  bool limits(const place& of, std::vector<yunikorn_limit>& out) {
    std::set<std::string> users, groups;
    return read_->list(of, out, [&](const place& item, yunikorn_limit& one) {
      const bool fine = read_->fields(item, [&](std::string_view key, const place& v) {
        if (key == "users") return names(v, one.users, users);
        if (key == "groups") return names(v, one.groups, groups);
        if (key == "maxresources") return read_yunikorn_amounts(*read_, v, one.most);
        if (key == "maxapplications") return applications(v, one.max_applications);
        return read_->ignore(key, v, {"limit"});
      });
      if (!fine) return false;
      if (one.users.empty() && one.groups.empty())
        return read_->fail(errc::malformed, item, "names neither users nor groups");
      if (one.most.empty() && one.max_applications == 0) return read_->fail(errc::malformed, item, "bounds nothing");
      for (const auto& [name, amount] : one.most)
        if (amount == quantity{})
          return read_->fail(errc::out_of_range, item, fmt::format("maxresources: {} is 0", name));
      if (groups.size() == 1 && groups.contains("*"))
        return read_->fail(errc::malformed, item, "\"*\" is the only group: that would be all of the queue");
      return true;
    });
  }
  bool names(const place& of, std::vector<std::string>& out, std::set<std::string>& known) {
    return read_->list(of, out, [&](const place& item, std::string& one) {
      if (!read_scalar(*read_, item, one)) return false;
      if (one.empty()) return read_->fail(errc::malformed, item, "is empty");
      if (known.contains("*"))
        return read_->fail(errc::malformed, item, "comes after \"*\", which has to be the last one");
      return known.insert(one).second ||
             read_->fail(errc::duplicate, item, fmt::format("\"{}\" has a limit already", one));
    });
  }

  bool rule(const place& of, placement_rule& out) {
    const bool fine = read_->fields(of, [&](std::string_view key, const place& v) {
      if (key == "name") {
        std::string name;
        if (!read_scalar(*read_, v, name)) return false;
        static constexpr std::pair<std::string_view, placement_rule::kind> kinds[] = {
            {"provided", placement_rule::kind::provided},
            {"fixed", placement_rule::kind::fixed},
            {"tag", placement_rule::kind::tag},
            {"user", placement_rule::kind::user}};
        for (const auto& [word, what] : kinds)
          if (lower(name) == word) return out.what = what, out.named = true;
        return read_->fail(errc::unknown, v, fmt::format("\"{}\" is not one of provided, fixed, tag, user", name));
      }
      if (key == "create") return read_->boolean(v, out.create);
      if (key == "value") return read_scalar(*read_, v, out.value) && (out.value = lower(out.value), true);
      if (key == "parent") {
        out.parent.emplace_back();
        return rule(v, out.parent.back());
      }
      if (key == "filter") return filter(v, out);
      return read_->ignore(key, v, {});
    });
    if (!fine) return false;
    if (!out.named) return read_->fail(errc::malformed, of, "needs a name");
    if ((out.what == placement_rule::kind::fixed || out.what == placement_rule::kind::tag) && out.value.empty())
      return read_->fail(errc::malformed, of, "needs a value");
    if (out.what == placement_rule::kind::tag && out.value != "namespace" && out.value != "namespace.parentqueue")
      return read_->fail(errc::unknown, of,
                         fmt::format("pods have no tag \"{}\" but namespace and namespace.parentqueue", out.value));
    return true;
  }
  bool filter(const place& of, placement_rule& out) {
    out.filtered = true;
    const auto plain = [&](const place& v, std::vector<std::string>& into) {
      if (!read_->texts(v, into)) return false;
      if (into.size() == 1 && into.front().find_first_of("^$*+?()[{}|]") != std::string::npos)
        return read_->fail(errc::unknown, v, "is a pattern, which is not modelled");
      return true;
    };
    return read_->fields(of, [&](std::string_view key, const place& v) {
      if (key == "type") {
        std::string word;
        if (!read_scalar(*read_, v, word)) return false;
        out.denies = lower(word) == "deny";
        return out.denies || word.empty() || lower(word) == "allow" ||
               read_->fail(errc::unknown, v, fmt::format("\"{}\" is not one of allow, deny", word));
      }
      if (key == "users") return plain(v, out.users);
      if (key == "groups") return plain(v, out.groups);
      return read_->ignore(key, v, {});
    });
  }

  bool finish(const place& of) {
    if (out_->queues.empty()) return read_->fail(errc::malformed, of, "needs queues");
    yunikorn_queue& root = out_->queues.front();
    if (!partition_limits_.empty() && root.limits.empty()) root.limits = std::move(partition_limits_);
    if (!preempts_)
      for (yunikorn_queue& one : out_->queues) one.preempts = false, one.preemption = yk::preemption_policy::disabled;
    if (!quota_preempts_)
      for (yunikorn_queue& one : out_->queues) one.quota_preemption_delay = {};
    return true;
  }

  reader* read_;
  yunikorn_draft* out_;
  std::vector<yunikorn_limit> partition_limits_;
  bool preempts_ = true, quota_preempts_ = false;
};

}  // namespace

bool read_yunikorn(reader& read, const place& of, yunikorn_draft& out) {
  bool found = false;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key != "partitions") return read.ignore(key, v, {"checksum"});
    return read.items(v, [&](const place& item) {
      const value* name = item.at->find("name");
      if (name != nullptr && !name->text.empty() && lower(name->text) != "default")
        return read.warn(item,
                         fmt::format("no node of Kubernetes is in the partition \"{}\"; it is left out", name->text));
      if (found) return read.fail(errc::duplicate, item, "there is a partition default already");
      found = true;
      return yunikorn_reader{read, out}.partition(item);
    });
  });
  return fine && (found || read.fail(errc::malformed, of, "needs a partition default"));
}

void note_yunikorn(const value& object, std::string_view kind, queue_objects& out) {
  const value* const meta = object.find("metadata");
  const value* const said = meta == nullptr ? nullptr : meta->find("annotations");
  const value* const name = meta == nullptr ? nullptr : meta->find("name");
  if (said == nullptr || name == nullptr || said->kind != value_kind::object) return;
  label_map its;
  for (std::size_t i = 0; i < said->keys.size(); ++i)
    if (said->keys[i].starts_with("yunikorn.apache.org/")) its.insert_or_assign(said->keys[i], said->items[i].text);
  if (its.empty()) return;
  if (kind == "Namespace") {
    out.yunikorn_namespaces.insert_or_assign(name->text, std::move(its));
  } else if (const auto allows = its.find("yunikorn.apache.org/allow-preemption");
             allows != its.end() && allows->second == "false") {
    out.spared_classes.insert(name->text);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
