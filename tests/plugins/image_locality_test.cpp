#include "gangsched/plugins/image_locality.hpp"

#include <cmath>
#include <set>

#include "gangsched/model/transaction.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"
#include "support/hooks.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::image_locality_test {

namespace {

constexpr std::int64_t mib = 1024 * 1024;
using scores = std::vector<std::int64_t>;

/// The rule as it is written down, over plain specs.
scores plain_rule(const pod_spec& pod, const std::vector<node_spec>& nodes) {
  std::vector<std::string> wanted = pod.image_volumes;
  for (const auto* list : {&pod.init_containers, &pod.containers}) {
    for (const container& one : *list) {
      if (!one.image.empty()) wanted.push_back(one.image);
    }
  }
  for (std::string& image : wanted) {
    const std::size_t colon = image.rfind(':'), slash = image.rfind('/');
    if (colon == std::string::npos || (slash != std::string::npos && colon < slash)) image += ":latest";
  }
  const auto size_on = [](const node_spec& node, const std::string& image) -> std::optional<std::int64_t> {
    for (const node_image& one : node.images) {
      if (std::find(one.names.begin(), one.names.end(), image) != one.names.end()) return one.size_bytes;
    }
    return std::nullopt;
  };
  const double containers = static_cast<double>(pod.containers.size() + pod.init_containers.size());
  const auto most = static_cast<std::int64_t>(1000 * containers) * mib;
  scores all;
  for (const node_spec& node : nodes) {
    std::int64_t sum = 0;
    for (const std::string& image : wanted) {
      if (!size_on(node, image)) continue;
      std::optional<std::int64_t> size;
      double having = 0;
      for (const node_spec& other : nodes) {
        const auto there = size_on(other, image);
        if (there && !size) size = there;
        having += there ? 1 : 0;
      }
      sum += static_cast<std::int64_t>(static_cast<double>(*size) * (having / static_cast<double>(nodes.size())));
    }
    sum = std::max(23 * mib, std::min(most, sum));
    all.push_back(100 * (sum - 23 * mib) / (most - 23 * mib));
  }
  return all;
}

}  // namespace

TEST_CASE("ImageLocality: the size counts with the share of the nodes that have the image, between two bounds") {
  hooks on{image_locality{}};
  on.add(a_node{"a"}.image("app:1", 400 * mib).image("tiny:1", 22 * mib));
  on.add(a_node{"b"}.image("app:1", 400 * mib).image("huge:1", 9000 * mib));
  on.add(a_node{"c"}.image("huge:1", 9000 * mib));
  on.add(a_node{"d"});
  // 200 MiB of 23 … 1000.
  CHECK(on.scores(on.add(a_pod{"app"}.image("app:1"))) == scores{18, 18, 0, 0});
  CHECK(on.scores(on.add(a_pod{"tiny"}.image("tiny:1"))) == scores{0, 0, 0, 0});
  CHECK(on.scores(on.add(a_pod{"huge"}.image("huge:1"))) == scores{0, 100, 100, 0});
  // Used twice it counts twice, but two containers also double the upper bound.
  CHECK(on.scores(on.add(a_pod{"two"}.image("app:1").container().image("app:1"))) == scores{19, 19, 0, 0});
  CHECK(on.scores(on.add(a_pod{"none"})) == scores{0, 0, 0, 0});
}

TEST_CASE("ImageLocality: image volumes count, but do not raise the upper bound; init containers do both") {
  hooks on{image_locality{}};
  on.add(a_node{"a"}.image("app:1", 500 * mib).image("model:1", 400 * mib));
  a_pod volume{"volume"}, init{"init"};
  volume.image("app:1").spec.image_volumes = {"model:1"};
  init.image("app:1").spec.init_containers.push_back({.image = "model:1"});
  CHECK(on.scores(on.add(volume)) == scores{100 * (900 - 23) / (1000 - 23)});
  CHECK(on.scores(on.add(init)) == scores{100 * (900 - 23) / (2000 - 23)});
}

TEST_CASE("ImageLocality: a pod's image without a tag means latest; a node's names are taken as they are") {
  hooks on{image_locality{}};
  on.add(a_node{"tagged"}.image("reg:5000/app:latest", 1000 * mib));
  on.add(a_node{"untagged"}.image("reg:5000/app", 1000 * mib));
  on.add(a_node{"digest"}.image("reg:5000/app@sha256:0", 1000 * mib));
  CHECK(on.scores(on.add(a_pod{"p"}.image("reg:5000/app"))) == scores{31, 0, 0});
  CHECK(on.scores(on.add(a_pod{"q"}.image("reg:5000/app@sha256:0"))) == scores{0, 0, 31});
}

TEST_CASE("ImageLocality: other nodes that come, change and go count at once; a discarded trial does not") {
  hooks on{image_locality{}};
  const node_id a = on.add(a_node{"a"}.image("app:1", 977 * mib + 23 * mib));
  const pod_id pod = on.add(a_pod{"p"}.image("app:1"));
  CHECK(on.scores(pod) == scores{100});
  const std::uint64_t before = inside(on.cluster).digest_with_derived();
  {
    transaction trial{on.cluster};
    on.add(a_node{"b"}.image("app:1", 5).image("new:1", 7));
    on.add(a_node{"c"});
    must(on.cluster.update_node(a, a_node{"a"}.image("other:1", 3)));
    CHECK(on.scores(pod) == scores{0, 31, 0});  // a was the first to list it, and b lists it still
  }
  CHECK(inside(on.cluster).digest_with_derived() == before);
  CHECK(on.scores(pod) == scores{100});
  const node_id b = on.add(a_node{"b"});
  CHECK(on.scores(pod) == scores{(500 - 23) * 100 / 977, 0});
  // The size is that of the node that listed the image first, while there is any.
  must(on.cluster.update_node(b, a_node{"b"}.image("app:1", 1)));
  CHECK(on.scores(pod) == scores{100, 100});
  must(on.cluster.remove_node(a));
  CHECK(on.scores(pod) == scores{100});
  must(on.cluster.update_node(b, a_node{"b"}));
  must(on.cluster.update_node(b, a_node{"b"}.image("app:1", 523 * mib)));
  CHECK(on.scores(pod) == scores{500 * 100 / 977});
}

TEST_CASE(
    "ImageLocality: as the plain rule says, for random nodes and pods, also with more images than a key has bits") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    dice roll{seed};
    hooks on{image_locality{}};
    const std::size_t kinds = seed % 3 == 0 ? 150 : 12;
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < kinds; ++i) sizes.push_back(roll.between(0, 3000) * mib / 2 + roll.between(0, 9999));
    const auto image = [&] { return roll.below(kinds); };
    const auto name = [](std::size_t i) { return "r/i" + std::to_string(i) + (i % 5 == 0 ? ":latest" : ":1"); };
    std::vector<node_spec> nodes;
    for (std::size_t n = 0; n < 1 + roll.below(12); ++n) {
      a_node made{"n" + std::to_string(n)};
      std::set<std::size_t> there;
      for (std::size_t i = roll.below(kinds); i > 0; --i) there.insert(image());
      for (const std::size_t i : there) made.image(name(i), sizes[i]);
      nodes.push_back(made);
      on.add(made);
    }
    for (int p = 0; p < 5; ++p) {
      a_pod made{"p" + std::to_string(p)};
      made.spec.containers.clear();
      const std::size_t containers = kinds == 150 && p < 2 ? 100 : 1 + roll.below(4);
      for (std::size_t i = 0; i < containers; ++i) {
        auto& list = roll.percent(30) ? made.spec.init_containers : made.spec.containers;
        const std::size_t which = image();
        if (roll.percent(90))
          list.push_back({.image = which % 5 == 0 ? "r/i" + std::to_string(which) : name(which)});
        else
          list.emplace_back();
      }
      for (std::size_t i = roll.below(3); i > 0; --i) made.spec.image_volumes.push_back(name(image()));
      if (made.spec.containers.empty()) made.spec.containers.emplace_back();
      INFO("seed " << seed << ", pod " << p);
      REQUIRE(on.scores(on.add(made)) == plain_rule(made, nodes));
    }
  }
}

}  // namespace gangsched::testing::image_locality_test
