#include "gangsched/policies/volcano_configuration.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "gangsched/framework/argument_reader.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE result<void> read_volcano_configuration(const argument& args,
                                                         queues::volcano::session_options& session,
                                                         bool& spares_critical) {
  using queues::volcano::action;
  using queues::volcano::plugin_name;
  queues::volcano::session_options made_session = session;
  bool spares = spares_critical;
  argument_reader read{"Volcano"};
  const auto actions = [&](const argument& value, const std::string& path) {
    std::string all;
    if (!read.text(value, path, all)) return false;
    made_session.actions.clear();
    for (std::string_view left = all; !left.empty();) {
      const std::size_t end = std::min(left.find(','), left.size());
      std::string_view one = left.substr(0, end);
      left.remove_prefix(std::min(end + 1, left.size()));
      while (one.starts_with(' ')) one.remove_prefix(1);
      while (one.ends_with(' ')) one.remove_suffix(1);
      action meant{};
      if (!read.word(argument{std::string{one}}, path,
                     std::initializer_list<std::pair<std::string_view, action>>{{"enqueue", action::enqueue},
                                                                                {"allocate", action::allocate},
                                                                                {"preempt", action::preempt},
                                                                                {"reclaim", action::reclaim},
                                                                                {"backfill", action::backfill}},
                     meant))
        return false;
      made_session.actions.push_back(meant);
    }
    return true;
  };
  const auto one_plugin = [&](const argument& value, const std::string& path) {
    enum class kept : std::uint8_t { other, conformance, own };
    queues::volcano::plugin made;
    const argument* const named = value.find("name");
    if (named == nullptr) return read.fail(errc::malformed, path, "has no name");
    std::string called;
    if (!read.text(*named, path + ".name", called)) return false;
    kept what = kept::own;
    if (called == "predicates" || called == "nodeorder" || called == "binpack")
      what = kept::other;
    else if (called == "conformance")
      what = kept::conformance, spares = true;
    else if (!read.word(*named, path + ".name",
                        std::initializer_list<std::pair<std::string_view, plugin_name>>{
                            {"priority", plugin_name::priority},
                            {"gang", plugin_name::gang},
                            {"drf", plugin_name::drf},
                            {"proportion", plugin_name::proportion},
                            {"capacity", plugin_name::capacity},
                            {"overcommit", plugin_name::overcommit}},
                        made.name))
      return false;
    const bool fine = read.fields(value, path, [&](std::string_view key, const argument& its, const std::string& at) {
      if (key == "name" || what == kept::other) return true;
      if (key == "enablePreemptable") return read.flag(its, at, made.preemptable);
      if (key == "enableReclaimable") return read.flag(its, at, made.reclaimable);
      if (key == "enableHierarchy" && made.name == plugin_name::drf) return read.flag(its, at, made.hierarchy);
      if (key != "arguments" || made.name != plugin_name::overcommit) return read.unknown(at);
      return read.fields(its, at, [&](std::string_view field, const argument& amount, const std::string& where) {
        if (field != "overcommit-factor") return read.unknown(where);
        if (const auto* const whole = amount.if_int())
          return made.overcommit_factor = static_cast<double>(*whole), true;
        if (const auto* const real = std::get_if<double>(&amount.value)) return made.overcommit_factor = *real, true;
        return read.fail(errc::malformed, where, "is no number");
      });
    });
    if (fine && what == kept::own) made_session.tiers.back().push_back(made);
    return fine;
  };
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "actions") return actions(value, path);
    if (key != "tiers") return read.unknown(path);
    made_session.tiers.clear();
    spares = false;
    return read.items(value, path, [&](const argument& tier, const std::string& at) {
      made_session.tiers.emplace_back();
      return read.fields(tier, at, [&](std::string_view field, const argument& plugins, const std::string& where) {
        return field == "plugins" ? read.items(plugins, where, one_plugin) : read.unknown(where);
      });
    });
  });
  if (!fine) return std::move(read).failure();
  if (const auto right = queues::volcano::check(made_session); !right) {
    error wrong = right.error();
    wrong.object = "plugin Volcano";
    return wrong;
  }
  session = std::move(made_session);
  spares_critical = spares;
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI
