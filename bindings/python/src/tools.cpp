#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <gangsched/devices/links.hpp>
#include <gangsched/framework/plugin_entry.hpp>
#include <gangsched/kube/simulation.hpp>

#include <map>
#include <openb/experiment.hpp>
#include <replay/csv.hpp>
#include <replay/generate.hpp>
#include <replay/host.hpp>
#include <replay/report.hpp>
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
  } catch (const replay::bad_input& bad) {
    refuse(errc::malformed, bad);
  } catch (const std::runtime_error& failed) {
    refuse(errc::contract, failed);
  } catch (const std::logic_error& failed) {
    refuse(errc::contract, failed);
  }
  throw std::logic_error{"not reached"};
}

using named_texts = std::vector<std::pair<std::string, std::string>>;

std::vector<kube::source> to_sources(const named_texts& texts) {
  std::vector<kube::source> made;
  for (const auto& [name, text] : texts) made.push_back({name, text});
  return made;
}

template <class T>
T cast_option(nb::handle value, const char* name) {
  T made;
  if (!nb::try_cast(value, made))
    raise({errc::malformed, "simulate", name, "cannot be " + nb::cast<std::string>(nb::repr(value))});
  return made;
}

kube::simulation::options to_options(const nb::dict& from) {
  const auto text = [&](const char* key) { return cast_option<std::string>(from[key], key); };
  const auto texts = [&](const char* key) { return cast_option<std::vector<std::string>>(from[key], key); };
  const auto file = [&](const char* key) -> std::optional<kube::source> {
    const auto all = to_sources(cast_option<named_texts>(from[key], key));
    return all.empty() ? std::nullopt : std::optional{all.front()};
  };
  const auto truth = [&](const char* key) { return cast_option<bool>(from[key], key); };
  kube::simulation::options made;
  made.ns = text("namespace");
  made.configuration = file("config");
  made.queues_policy = text("queues_policy");
  made.all_schedulers = truth("all_schedulers");
  made.keep_going = truth("keep_going");
  made.grace = truth("grace");
  made.live_controllers = truth("live_controllers");
  made.start = text("start");
  made.until = text("until");
  made.drain = texts("drain");
  made.lose = texts("lose");
  made.shapes = file("shapes");
  made.scale_down = truth("scale_down");
  made.explain = text("explain");
  made.compare_with = file("compare_with");
  made.timeline = truth("timeline");
  made.most_made_pods = cast_option<std::size_t>(from["most_made_pods"], "most_made_pods");
  for (const nb::handle one : nb::cast<nb::list>(from["arrivals"])) {
    kube::simulation::arrival& to = made.arrivals.emplace_back();
    to.name = cast_option<std::string>(one[0], "arrivals");
    to.arrives = to_instant(one[1]);
    if (const nb::object runs = one[2]; !runs.is_none()) to.runs = to_instant(runs);
  }
  made.seed = cast_option<std::uint64_t>(from["seed"], "seed");
  return made;
}

using parts_of_error = std::tuple<std::string, std::string, std::string, std::string>;

/// JSON, what was left out, and mistakes; with these the JSON says nothing else.
std::tuple<std::string, std::vector<std::string>, std::vector<parts_of_error>> simulate_texts(const named_texts& texts,
                                                                                              const nb::dict& how,
                                                                                              const nb::list& plugins) {
  const std::vector<kube::source> files = to_sources(texts);
  kube::simulation::options asked = to_options(how);
  std::vector<plugin_entry> own;
  for (const nb::handle one : plugins) own.push_back(to_entry(one[0], cast_option<std::int64_t>(one[1], "plugins")));
  const auto of_python = states_in(own);
  asked.adjust = [&](kernel_table& profile) {
    for (const plugin_entry& one : own) add_plugin(profile, one);
  };
  const kube::simulation::outcome made =
      away("simulate", of_python, [&] { return kube::simulation::run(files, asked); });
  if (const nb::object cause = take_raised(of_python); cause.is_valid())
    raise({errc::contract, "simulate", "", "a plugin raised an exception"}, cause);
  std::vector<std::string> warnings;
  for (const kube::warning& one : made.warnings) warnings.push_back(one.message());
  std::vector<parts_of_error> mistakes;
  for (const error& one : made.errors) mistakes.emplace_back(to_string(one.code), one.object, one.field, one.reason);
  return {kube::simulation::json_of(made, {.all = true, .gpus = true, .queues = true, .timeline = asked.timeline}),
          std::move(warnings), std::move(mistakes)};
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
  to.def("_simulate", &simulate_texts, "texts"_a, "how"_a, "plugins"_a);
  to.def("_openb", &openb_runs, "nodes"_a, "pods"_a, "split"_a, "policies"_a, "seeds"_a, "generated_seed"_a);
  to.def("_openb_trace", &openb_trace, "seed"_a);
  to.def("_replay", &replay_once, "nodes"_a, "pods"_a, "gangs"_a, "philly"_a, "handling"_a, "profile"_a,
         "queue_policy"_a, "by_age"_a, "speed"_a, "stay"_a, "gpus"_a, "spread"_a, "seed"_a);
}

}  // namespace bindings
