#include "gangsched/model/requests.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace gangsched::testing::requests_test {

namespace {

constexpr std::int64_t mi = 1024 * 1024;
constexpr std::int64_t default_memory = 200 * mi;

quantity q(const std::string& text) { return quantity::parse(text).value(); }

resource_list list(std::initializer_list<std::pair<std::string, std::string>> entries) {
  resource_list made;
  for (const auto& [name, amount] : entries) made[name] = q(amount);
  return made;
}

container uses(std::initializer_list<std::pair<std::string, std::string>> entries, bool sidecar = false) {
  container made;
  made.requests = list(entries);
  made.sidecar = sidecar;
  return made;
}

pod_spec pod(std::vector<container> containers, std::vector<container> init = {}) {
  pod_spec made;
  made.name = "web-1";
  made.containers = std::move(containers);
  made.init_containers = std::move(init);
  return made;
}

using amounts = std::map<std::string, std::int64_t>;
amounts plain(const integer_resources& made) { return {made.begin(), made.end()}; }

pod_requests of(const pod_spec& spec) { return requests_of(spec).value(); }

}  // namespace

TEST_CASE("resources that count", "[model][requests]") {
  for (const char* name : {"cpu", "memory", "ephemeral-storage", "pods", "hugepages-2Mi", "attachable-volumes-aws-ebs",
                           "nvidia.com/gpu", "example.com/a_b.c", "kubernetes.io/batch-cpu", "x.kubernetes.io/y"})
    CHECK(is_counted_resource(name));
  for (const char* name : {"", "storage", "gpu", "CPU", "requests.cpu", "requests.example.com/gpu", "example.com/",
                           "/gpu", "a/b/c", "Example.com/gpu", "example.com/-x", "services"})
    CHECK_FALSE(is_counted_resource(name));
  const std::string prefix_244(244, 'a');
  CHECK(is_counted_resource(prefix_244 + "/x"));
  CHECK_FALSE(is_counted_resource(prefix_244 + "a/x"));
}

TEST_CASE("lists become integers", "[model][requests]") {
  const auto made = to_integers(
      list({{"cpu", "1.0005"}, {"memory", "1500m"}, {"pods", "110"}, {"nvidia.com/gpu", "0"}, {"storage", "1Gi"}}),
      "node n1", "allocatable");
  REQUIRE(made);
  CHECK(plain(*made) == amounts{{"cpu", 1001}, {"memory", 2}, {"pods", 110}, {"nvidia.com/gpu", 0}});

  const auto negative = to_integers(list({{"cpu", "1"}, {"memory", "-1"}}), "node n1", "allocatable");
  REQUIRE_FALSE(negative);
  CHECK(negative.error().code == errc::out_of_range);
  CHECK(negative.error().message() == "node n1: allocatable[\"memory\"]: is negative");

  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(plain(*to_integers({{"memory", quantity{most}}, {"cpu", quantity::from_milli(most)}}, "o", "f")) ==
        amounts{{"memory", most}, {"cpu", most}});
  for (const resource_list& large :
       {resource_list{{"cpu", quantity{most}}}, resource_list{{"memory", quantity{most} + q("1n")}}}) {
    const auto failed = to_integers(large, "o", "f");
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code == errc::overflow);
    CHECK(failed.error().field == "f[\"" + large.begin()->first + "\"]");
  }
}

TEST_CASE("containers add up exactly and are rounded once", "[model][requests]") {
  CHECK(plain(of(pod({uses({{"cpu", "500u"}}), uses({{"cpu", "500u"}})})).requests) == amounts{{"cpu", 1}});
  CHECK(plain(of(pod({uses({{"cpu", "500u"}}), uses({{"cpu", "501u"}})})).requests) == amounts{{"cpu", 2}});
  CHECK(plain(of(pod({uses({{"memory", "400m"}}), uses({{"memory", "600m"}}), uses({{"memory", "1n"}})})).requests) ==
        amounts{{"memory", 2}});
  const pod_requests made = of(pod({uses({{"cpu", "1"}, {"memory", "64Mi"}, {"nvidia.com/gpu", "1"}}),
                                    uses({{"cpu", "250m"}, {"ephemeral-storage", "1Gi"}, {"nvidia.com/gpu", "2"}})}));
  CHECK(plain(made.requests) ==
        amounts{{"cpu", 1250}, {"memory", 64 * mi}, {"ephemeral-storage", 1024 * mi}, {"nvidia.com/gpu", 3}});
}

TEST_CASE("what is zero or does not count is left out", "[model][requests]") {
  const pod_requests made =
      of(pod({uses({{"cpu", "0"}, {"memory", "0"}, {"nvidia.com/gpu", "0"}, {"storage", "1Gi"}})}));
  CHECK(made.requests.empty());
  CHECK(made.for_scoring.empty());
  CHECK(made.scored_cpu == 0);
  CHECK(made.scored_memory == 0);
  CHECK(of(pod({})).for_scoring.empty());
}

TEST_CASE("init containers run one at a time and before the others", "[model][requests]") {
  // Per resource: cpu 3 of the second init container, memory 100 of the container.
  const pod_spec spec =
      pod({uses({{"cpu", "1"}, {"memory", "60"}}), uses({{"cpu", "1"}, {"memory", "40"}})},
          {uses({{"cpu", "2"}, {"memory", "90"}}), uses({{"cpu", "3"}, {"memory", "10"}, {"nvidia.com/gpu", "1"}})});
  CHECK(plain(of(spec).requests) == amounts{{"cpu", 3000}, {"memory", 100}, {"nvidia.com/gpu", 1}});
}

TEST_CASE("sidecars run with what comes after them", "[model][requests]") {
  const container side = uses({{"cpu", "1"}}, true);
  const container init = uses({{"cpu", "3"}});
  const container main = uses({{"cpu", "2"}});
  CHECK(plain(of(pod({main}, {side})).requests) == amounts{{"cpu", 3000}});
  CHECK(plain(of(pod({main}, {init, side})).requests) == amounts{{"cpu", 3000}});        // max(2 + 1, 3)
  CHECK(plain(of(pod({main}, {side, init})).requests) == amounts{{"cpu", 4000}});        // max(2 + 1, 1 + 3)
  CHECK(plain(of(pod({main}, {side, init, side})).requests) == amounts{{"cpu", 4000}});  // max(2 + 2, 1 + 3)
  CHECK(plain(of(pod({main}, {side, side, init})).requests) == amounts{{"cpu", 5000}});
  CHECK(plain(of(pod({}, {side, side})).requests) == amounts{{"cpu", 2000}});
}

TEST_CASE("overhead comes on top of everything", "[model][requests]") {
  pod_spec spec = pod({uses({{"cpu", "1"}})}, {uses({{"cpu", "2"}})});
  spec.overhead = list({{"cpu", "100m"}, {"memory", "10Mi"}});
  const pod_requests made = of(spec);
  CHECK(plain(made.requests) == amounts{{"cpu", 2100}, {"memory", 10 * mi}});
  CHECK(plain(made.for_scoring) == amounts{{"cpu", 2100}, {"memory", default_memory + 10 * mi}});
  CHECK(made.scored_cpu == 2100);
  CHECK(made.scored_memory == default_memory + 10 * mi);
}

TEST_CASE("rounding comes after overhead", "[model][requests]") {
  pod_spec spec = pod({uses({{"cpu", "500u"}})});
  spec.overhead = list({{"cpu", "500u"}});
  CHECK(plain(of(spec).requests) == amounts{{"cpu", 1}});
  spec.resources = list({{"cpu", "1500u"}});
  CHECK(plain(of(spec).requests) == amounts{{"cpu", 2}});
}

TEST_CASE("pod-level requests replace cpu, memory and huge pages", "[model][requests]") {
  pod_spec spec = pod({uses({{"cpu", "3"}, {"memory", "1Gi"}, {"hugepages-2Mi", "4Mi"}, {"nvidia.com/gpu", "1"}})});
  spec.resources = list({{"cpu", "2"},
                         {"hugepages-2Mi", "8Mi"},
                         {"hugepages-1Gi", "1Gi"},
                         {"nvidia.com/gpu", "9"},
                         {"ephemeral-storage", "9"}});
  spec.overhead = list({{"cpu", "100m"}, {"memory", "1Mi"}});
  const pod_requests made = of(spec);
  CHECK(plain(made.requests) == amounts{{"cpu", 2100},
                                        {"memory", 1025 * mi},
                                        {"hugepages-2Mi", 8 * mi},
                                        {"hugepages-1Gi", 1024 * mi},
                                        {"nvidia.com/gpu", 1}});
  CHECK(plain(made.for_scoring) ==
        amounts{{"cpu", 3100}, {"memory", 1025 * mi}, {"hugepages-2Mi", 4 * mi}, {"nvidia.com/gpu", 1}});
  CHECK(made.scored_cpu == 2100);
  CHECK(made.scored_memory == 1025 * mi);
}

TEST_CASE("scoring has defaults for every container without the key", "[model][requests]") {
  // An explicit 0 stays 0.
  const pod_requests two = of(pod({uses({{"cpu", "0"}}), uses({{"memory", "1Mi"}})}));
  CHECK(plain(two.requests) == amounts{{"memory", mi}});
  CHECK(plain(two.for_scoring) == amounts{{"cpu", 100}, {"memory", default_memory + mi}});
  CHECK(two.scored_cpu == 100);
  CHECK(two.scored_memory == default_memory + mi);

  // Init containers and sidecars too: max(100 + 100, 100 + 100) cpu.
  const pod_requests init = of(pod({uses({})}, {uses({}, true), uses({})}));
  CHECK(init.requests.empty());
  CHECK(plain(init.for_scoring) == amounts{{"cpu", 200}, {"memory", 2 * default_memory}});
  CHECK(init.scored_cpu == 200);
  CHECK(plain(of(pod({uses({{"cpu", "50m"}, {"memory", "0"}})}, {uses({})})).for_scoring) ==
        amounts{{"cpu", 100}, {"memory", default_memory}});
}

TEST_CASE("with pod-level requests a placed pod gets a default only for what nobody requests", "[model][requests]") {
  pod_spec spec = pod({uses({}), uses({})});
  spec.resources = list({{"memory", "1Gi"}});
  pod_requests made = of(spec);
  CHECK(made.scored_cpu == 200);
  CHECK(made.scored_memory == 1024 * mi);
  CHECK(plain(made.for_scoring) == amounts{{"cpu", 200}, {"memory", 2 * default_memory}});

  spec.containers[0].requests = list({{"cpu", "0"}});  // named, if only as 0
  made = of(spec);
  CHECK(made.scored_cpu == 0);
  CHECK(plain(made.for_scoring) == amounts{{"cpu", 100}, {"memory", 2 * default_memory}});

  spec.containers[0].requests = {};
  spec.overhead = list({{"cpu", "10m"}});  // overhead counts as naming it, too
  CHECK(of(spec).scored_cpu == 10);

  spec.overhead = {};
  spec.resources = list({{"nvidia.com/gpu", "1"}});  // nothing that is replaced: as if there were none
  spec.containers[0].requests = list({{"cpu", "50m"}});
  made = of(spec);
  CHECK(made.scored_cpu == 150);
  CHECK(made.scored_memory == 2 * default_memory);

  spec.resources = resource_list{};
  CHECK(of(spec).scored_cpu == 150);
}

TEST_CASE("sums beyond 64 bits are refused", "[model][requests]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  pod_spec spec = pod({container{{{"memory", quantity{most}}}}, container{{{"memory", quantity{0}}}}});
  CHECK(plain(of(spec).requests) == amounts{{"memory", most}});
  spec.containers[1].requests["memory"] = q("1n");
  const auto failed = requests_of(spec);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == errc::overflow);
  CHECK(failed.error().message() ==
        "pod default/web-1: containers: the sum of the memory requests does not fit into 64 bits");

  // Only the reading for scoring overflows: pod-level requests hide the containers from the other.
  spec.resources = list({{"memory", "1Gi"}});
  CHECK_FALSE(requests_of(spec));
  // Only the default takes it over.
  CHECK_FALSE(requests_of(pod({container{{{"cpu", quantity::from_milli(most)}}}, container{}})));
  CHECK_FALSE(
      requests_of(pod({container{{{"x.com/y", quantity::from_nanos(std::numeric_limits<quantity::nanos_t>::max())}}},
                       container{{{"x.com/y", quantity{1}}}}})));
}

namespace {

// PodRequests (k8s.io/component-helpers/resource) for one resource, in nanos, as plainly as it can be written.
struct reference {
  const pod_spec& spec;
  std::string name;

  [[nodiscard]] quantity::nanos_t req(const container& one, quantity::nanos_t missing) const {
    const auto found = one.requests.find(name);
    return found == one.requests.end() ? missing : found->second.nanos();
  }
  [[nodiscard]] quantity::nanos_t total(bool pod_level, quantity::nanos_t missing) const {
    quantity::nanos_t sum = 0, side = 0, peak = 0;
    for (const container& c : spec.containers) sum += req(c, missing);
    for (const container& i : spec.init_containers) {
      quantity::nanos_t use = 0;
      if (i.sidecar) {
        sum += req(i, missing);
        side += req(i, missing);
        use = side;
      } else {
        use = req(i, missing) + side;
      }
      peak = std::max(peak, use);
    }
    quantity::nanos_t total = std::max(sum, peak);
    const bool supported = name == "cpu" || name == "memory" || name.substr(0, 10) == "hugepages-";
    if (pod_level && spec.resources && supported && spec.resources->contains(name))
      total = spec.resources->at(name).nanos();
    if (spec.overhead.contains(name)) total += spec.overhead.at(name).nanos();
    return total;
  }
  [[nodiscard]] std::int64_t integer(quantity::nanos_t nanos) const {
    const quantity::nanos_t unit = name == "cpu" ? 1'000'000 : 1'000'000'000;
    return static_cast<std::int64_t>((nanos + unit - 1) / unit);
  }
  [[nodiscard]] bool named() const {
    const auto has = [&](const container& one) { return one.requests.contains(name); };
    return std::any_of(spec.containers.begin(), spec.containers.end(), has) ||
           std::any_of(spec.init_containers.begin(), spec.init_containers.end(), has) || spec.overhead.contains(name) ||
           spec.resources->contains(name);
  }
  [[nodiscard]] quantity::nanos_t standard() const {
    if (name == "cpu") return 100'000'000;
    return name == "memory" ? quantity::nanos_t{default_memory} * 1'000'000'000 : 0;
  }
  [[nodiscard]] std::int64_t scored() const {
    bool pod_level = false;
    if (spec.resources)
      for (const auto& [resource, amount] : *spec.resources)
        pod_level = pod_level || resource == "cpu" || resource == "memory" || resource.substr(0, 10) == "hugepages-";
    return integer(total(true, pod_level && named() ? 0 : standard()));
  }
};

}  // namespace

TEST_CASE("random pods agree with the rule written down plainly", "[model][requests][random]") {
  const std::vector<std::string> names{"cpu",           "memory",         "ephemeral-storage",
                                       "hugepages-2Mi", "nvidia.com/gpu", "storage"};
  const std::vector<std::string> texts{"0", "500u", "1n", "1m", "1.0005", "250m", "1", "3", "64Mi", "100M", "0.3"};
  std::mt19937_64 random{20240607};
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto some = [&](std::size_t one_in) {
    resource_list made;
    for (const std::string& name : names)
      if (below(one_in) == 0) made[name] = q(texts[below(texts.size())]);
    return made;
  };
  for (int round = 0; round < 4000; ++round) {
    pod_spec spec = pod({});
    for (std::size_t i = below(4); i-- > 0;) spec.containers.push_back({.requests = some(2)});
    for (std::size_t i = below(5); i-- > 0;)
      spec.init_containers.push_back({.requests = some(2), .sidecar = below(2) == 0});
    if (below(2) == 0) spec.resources = some(3);
    if (below(3) == 0) spec.overhead = some(3);
    const pod_requests made = of(spec);
    amounts requests, scoring;
    for (const std::string& name : names) {
      const reference rule{spec, name};
      if (name == "storage") continue;
      if (const auto n = rule.integer(rule.total(true, 0)); n != 0) requests[name] = n;
      if (const auto n = rule.integer(rule.total(false, rule.standard())); n != 0) scoring[name] = n;
    }
    CAPTURE(round);
    REQUIRE(plain(made.requests) == requests);
    REQUIRE(plain(made.for_scoring) == scoring);
    REQUIRE(made.scored_cpu == reference{spec, "cpu"}.scored());
    REQUIRE(made.scored_memory == reference{spec, "memory"}.scored());
  }
}

}  // namespace gangsched::testing::requests_test
