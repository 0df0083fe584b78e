#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <gangsched/devices/links.hpp>
#include <gangsched/framework/plugin_entry.hpp>

#include <map>
#include <openb/experiment.hpp>
#include <replay/csv.hpp>
#include <replay/generate.hpp>
#include <replay/host.hpp>
#include <replay/report.hpp>
#include <simulate/input.hpp>
#include <simulate/report.hpp>
#include <tuple>

#include "plugins.hpp"

// The programs in examples/ as functions: their parts do the work, and their JSON is what comes out.
namespace bindings {
namespace {

using namespace gangsched;

/// Runs @p work without the GIL. What it throws is a gangsched.Error about @p object, and what a hook in Python raised is its cause.
template <class Work>
auto away(const char* object, const std::vector<std::shared_ptr<plugin_state>>& of, Work&& work) {
  const auto refuse = [&](errc code, const std::exception& thrown) {
    raise({code, object, "", thrown.what()}, take_raised(of));
  };
  try {
    const nb::gil_scoped_release released;
    return work();
  } catch (const simulate::bad_input& bad) {
    refuse(errc::malformed, bad);
  } catch (const replay::bad_input& bad) {
    refuse(errc::malformed, bad);
  } catch (const std::runtime_error& failed) {
    refuse(errc::contract, failed);
  } catch (const std::logic_error& failed) {
    refuse(errc::contract, failed);
  }
  throw std::logic_error{"not reached"};
}

std::vector<kube::source> to_sources(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::vector<kube::source> made;
  for (const auto& [name, text] : texts) made.push_back({name, text});
  return made;
}

using named_texts = std::vector<std::pair<std::string, std::string>>;

std::pair<std::string, std::vector<std::string>> simulate_texts(const named_texts& texts, const named_texts& config,
                                                                const std::string& explain,
                                                                const std::string& queues_policy, bool grace,
                                                                std::uint64_t seed, const nb::list& plugins) {
  simulate::command_line how;
  how.explain = explain;
  how.queues_policy = queues_policy;
  how.no_grace = !grace;
  how.seed = seed;
  const std::vector<kube::source> files = to_sources(texts), configs = to_sources(config);
  std::vector<plugin_entry> own;
  for (const nb::handle one : plugins) own.push_back(to_entry(one[0], nb::cast<std::int64_t>(one[1])));
  const auto of_python = states_in(own);

  std::vector<kube::warning> read;
  result<simulate::outcome> made = away("simulate", of_python, [&] {
    simulate::scenario scenario =
        simulate::make_scenario(how, files, configs.empty() ? std::nullopt : std::optional{configs.front()}, read);
    for (kernel_table& profile : scenario.profiles)
      for (const plugin_entry& one : own) add_plugin(profile, one);
    return simulate::run(scenario, [](std::uint64_t) {});
  });
  const nb::object cause = take_raised(of_python);
  if (!made) raise(made.error(), cause);
  if (cause.is_valid()) raise({errc::contract, "simulate", "", "a plugin raised an exception"}, cause);
  std::vector<std::string> warnings;
  for (const kube::warning& one : read) warnings.push_back(one.message());
  return {simulate::json_report(*made, {.all = true, .gpus = true, .ascii = true, .queues = true}),
          std::move(warnings)};
}

/// One run after another; between them Python is heard about interrupts.
nb::list openb_runs(const std::string& nodes, const std::string& pods, bool split, const nb::list& policies,
                    const std::vector<std::uint64_t>& seeds, std::uint64_t generated_seed) {
  std::vector<std::shared_ptr<plugin_state>> of_python;
  std::vector<std::pair<std::string, std::optional<plugin_entry>>> each;
  for (const nb::handle one : policies) {
    if (nb::isinstance<nb::str>(one)) {
      each.emplace_back(nb::cast<std::string>(one), std::nullopt);
      continue;
    }
    plugin_entry entry = to_entry(one, 1);
    of_python.push_back(states_in({&entry, 1}).front());
    each.emplace_back(entry.name, std::move(entry));
  }
  const openb::setting what = away("openb", of_python, [&] {
    return nodes.empty() ? openb::make_setting(replay::generate_openb(generated_seed), split, "generated")
                         : openb::make_setting(replay::openb::read(nodes, pods, max_node_gpus), split, pods);
  });
  nb::list made;
  for (const std::uint64_t seed : seeds) {
    const openb::arrivals order = openb::draw(what.list, what.nodes.size(), what.gpus, seed);
    for (const auto& [name, own] : each) {
      const openb::outcome one = away("openb", of_python, [&] {
        return openb::run(what.nodes, what.list, order, name, seed, own ? &*own : nullptr);
      });
      nb::dict row;
      row["list"] = what.list.name;
      row["policy"] = name;
      row["seed"] = seed;
      row["alloc_90"] = one.allocated[90];
      row["alloc_100"] = one.allocated[100];
      row["alloc_130"] = one.allocated[130];
      row["frag_100"] = one.fragmented;
      row["big_failed"] = one.big_failed;
      row["us_per_pod"] = one.micros;
      row["allocated"] = std::vector<double>(one.allocated.begin(), one.allocated.end());
      made.append(std::move(row));
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }
  return made;
}

using openb_node_row = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::string>;
using openb_pod_row =
    std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::string, std::int64_t>;

/// The generated cluster and pods, as rows of the files that `openb` reads.
std::pair<std::vector<openb_node_row>, std::vector<openb_pod_row>> openb_trace(std::uint64_t seed) {
  const replay::openb::trace from = replay::generate_openb(seed);
  std::pair<std::vector<openb_node_row>, std::vector<openb_pod_row>> made;
  for (const auto& one : from.nodes)
    made.first.emplace_back(one.name, one.cpu_milli, one.memory_mib, one.gpus, one.model);
  for (const auto& one : from.pods) {
    std::string models;
    for (const std::string& model : one.models) models += (models.empty() ? "" : "|") + model;
    made.second.emplace_back(one.name, one.cpu_milli, one.memory_mib, one.gpus, one.gpu_milli, models, one.creation);
  }
  return made;
}

nb::dict replay_once(const std::string& nodes, const std::string& pods, const std::string& gangs, bool philly,
                     const std::string& handling, const std::string& profile, const std::string& queue_policy,
                     bool by_age, double speed, bool stay, std::int64_t gpus, std::int64_t spread, std::uint64_t seed) {
  static const std::map<std::string, replay::handling> ways{{"group_cycle", replay::handling::group_cycle},
                                                            {"permit", replay::handling::permit},
                                                            {"pod_by_pod", replay::handling::pod_by_pod}};
  static const std::map<std::string, replay::profile_choice> profiles{{"pack", replay::profile_choice::pack},
                                                                      {"spread", replay::profile_choice::spread}};
  const auto way = ways.find(handling);
  if (way == ways.end())
    raise({errc::malformed, "replay", "handling", "\"" + handling + "\" is none of group_cycle, permit, pod_by_pod"});
  const auto chosen = profiles.find(profile);
  if (chosen == profiles.end())
    raise({errc::malformed, "replay", "profile", "\"" + profile + "\" is none of pack, spread"});
  const replay::replay_options how{
      .profile = chosen->second, .gangs = way->second, .queue_policy = queue_policy, .by_age = by_age, .seed = seed};

  std::vector<replay::chapter> chapters(1);
  replay::chapter& one = chapters.front();
  away("replay", {}, [&] {
    one.name = philly ? "philly" : "openb";
    one.work = philly ? replay::philly::to_workload(
                            gangs.empty() ? replay::generate_philly(seed) : replay::philly::read(gangs),
                            {.gpus = gpus, .speed = speed, .spread = spread})
                      : replay::openb::to_workload(
                            nodes.empty() ? replay::generate_openb(seed) : replay::openb::read(nodes, pods),
                            {.speed = speed, .stay = stay});
    one.profile = how.profile;
    one.seed = seed;
    one.outcomes.push_back(replay::replay_workload(one.work, how, [](std::uint64_t) {}));
    return true;
  });

  const replay::outcome& of = one.outcomes.front();
  nb::dict made;
  made["json"] = replay::json_report(chapters);
  made["chapter"] = one.name;
  nb::dict waits;
  for (std::size_t size = 0; size < of.waits.size(); ++size)
    waits[nb::str(one.work.sizes[size].c_str())] = of.waits[size];
  made["waits"] = waits;
  std::vector<std::tuple<double, double, double>> usage;
  for (const replay::usage_point& at : of.usage) {
    usage.emplace_back(to_seconds(at.from - of.first_arrival), static_cast<double>(at.computing) / 1000,
                       static_cast<double>(at.idle) / 1000);
  }
  made["usage"] = usage;
  made["gpus"] = static_cast<double>(of.gpu_milli) / 1000;
  nb::list tenants;
  for (std::size_t i = 0; i < of.tenants.size() && i < one.work.tenants.size(); ++i) {
    nb::dict row;
    row["tenant"] = one.work.tenants[i].name;
    row["gpus"] = one.work.tenants[i].gpus;
    row["arrived"] = of.tenants[i].arrived;
    row["preempted"] = of.tenants[i].preempted;
    row["gpu_seconds"] = of.tenants[i].gpu_seconds;
    row["share"] = of.tenants[i].share;
    row["waits"] = of.tenants[i].waits;
    tenants.append(std::move(row));
  }
  made["tenants"] = tenants;
  return made;
}

}  // namespace

void add_tools(nb::module_& to) {
  to.def("_simulate", &simulate_texts, "texts"_a, "config"_a, "explain"_a, "queues_policy"_a, "grace"_a, "seed"_a,
         "plugins"_a);
  to.def("_openb", &openb_runs, "nodes"_a, "pods"_a, "split"_a, "policies"_a, "seeds"_a, "generated_seed"_a);
  to.def("_openb_trace", &openb_trace, "seed"_a);
  to.def("_replay", &replay_once, "nodes"_a, "pods"_a, "gangs"_a, "philly"_a, "handling"_a, "profile"_a,
         "queue_policy"_a, "by_age"_a, "speed"_a, "stay"_a, "gpus"_a, "spread"_a, "seed"_a);
}

}  // namespace bindings
