#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins.hpp"
#include "gangsched/scheduler.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::gpu_types_test {

namespace {

constexpr const char* type_label = "nvidia.com/gpu.product";

struct types_world {
  gangsched::cluster cluster;
  gangsched::scheduler scheduler;

  explicit types_world(kernel_table profile) : scheduler(cluster, std::move(profile), {.ties = tie_rule::lowest_row}) {}
  void node(const std::string& name, const std::string& type, std::int64_t gpus) {
    cluster.add_node(a_node(name).cpu(64).gpus(gpus).label(type_label, type)).value();
  }
  std::string where(pod_id pod) { return std::string{cluster.name_of(cluster.node_of(pod))}; }
  void run() {
    while (scheduler.schedule_cycle(instant{})) {
    }
  }
};

gpu_type_value valued(bool may_mix = false) {
  return gpu_type_value{
      {.label = type_label, .types = {{"fast", 400, 8}, {"cheap", 100, 1}, {"slow", 10, 1}}, .may_mix = may_mix}};
}

}  // namespace

TEST_CASE("a pod goes to the type that does most for its price", "[plugins][types]") {
  types_world w{profile{priority_sort{}, node_resources_fit{}, weighted{valued(), 10}}};
  w.node("f", "fast", 8), w.node("c", "cheap", 1), w.node("s", "slow", 8), w.node("u", "unheard-of", 8);
  const pod_id first = w.cluster.add_pod(a_pod("first").gpus(1)).value(),
               second = w.cluster.add_pod(a_pod("second").gpus(1)).value();
  w.run();
  CHECK(w.where(first) == "c");   // 100 a unit of price
  CHECK(w.where(second) == "f");  // 50
}

TEST_CASE("a gang stays on one type, unless it may mix", "[plugins][types]") {
  for (const bool may_mix : {false, true}) {
    types_world w{profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, weighted{valued(may_mix), 10}}};
    w.node("c1", "cheap", 2), w.node("c2", "cheap", 1), w.node("f", "fast", 8);
    const group_id gang = w.cluster.add_group(a_gang{"gang", 4}).value();
    std::vector<pod_id> members;
    for (int i = 0; i < 4; ++i)
      members.push_back(w.cluster.add_pod(a_pod("m" + std::to_string(i)).gpus(1).in(gang)).value());
    w.run();
    std::size_t fast = 0;
    for (const pod_id one : members) fast += w.where(one) == "f";
    CHECK(fast == (may_mix ? 1u : 4u));  // three cheap ones are not enough for all
  }
}

TEST_CASE("arguments of GpuTypeValue", "[plugins][types]") {
  using argument = gangsched::argument;
  CHECK(gpu_type_value::from(argument::fields{{"gangs", "Mixed"}}));
  CHECK(gpu_type_value::from(argument::fields{{"gangs", "Never"}}).error().field == "args.gangs");
  CHECK_FALSE(gpu_type_value::from(argument::fields{{"tipes", "x"}}));
}

TEST_CASE("MIG instances go where they leave the most, among nodes as well", "[plugins][mig]") {
  const auto place = [](mig_rule rule) {
    types_world w{profile{priority_sort{}, mig_packing{rule}, device_fit{}}};
    for (const char* name : {"a", "b"}) {
      node_spec spec = a_node(name).cpu(64);
      spec.devices.gpu.model = "NVIDIA-A100-SXM4-40GB";
      spec.devices.gpus.resize(1);
      spec.devices.gpus[0].mig = mig_mode::dynamic;
      w.cluster.add_node(spec).value();
    }
    const auto add = [&](const char* name, const char* profile) {
      const pod_id made = w.cluster.add_pod(a_pod(name).device({.mig_profile = profile})).value();
      w.run();
      return w.where(made);
    };
    CHECK(add("first", "2g.10gb") == "a");
    const std::string four = add("four", "4g.20gb");
    return four + add("three", "3g.20gb");
  };
  CHECK(place(mig_rule::first_fit) == "ba");      // 2g at 0 is in the way of 4g, which starts nowhere else
  CHECK(place(mig_rule::fragmentation) == "ab");  // 2g at 4 is in the way of 3g only
}

TEST_CASE("of GPUs that are as good for a MIG instance the one that most pods share is taken", "[plugins][mig]") {
  const bool one_node = GENERATE(true, false);  // two GPUs of a node, or two nodes
  types_world w{profile{priority_sort{}, mig_packing{}, device_fit{}}};
  const auto add_node = [&](const char* name, std::vector<std::string> ids) {
    node_spec spec = a_node(name).cpu(64);
    spec.devices.gpu.model = "NVIDIA-A100-SXM4-40GB";
    for (std::string& id : ids) spec.devices.gpus.push_back({.id = std::move(id), .mig = mig_mode::dynamic});
    return w.cluster.add_node(spec).value();
  };
  const node_id first = add_node("a", one_node ? std::vector<std::string>{"x", "y"} : std::vector<std::string>{"x"});
  const node_id second = one_node ? first : add_node("b", {"y"});
  const auto running = [&](const char* name, node_id node, const char* gpu, const char* profile, std::int32_t start) {
    a_pod pod = a_pod(name).device({.mig_profile = profile});
    pod.spec.node = node;
    pod.spec.held_devices = {{.id = gpu, .mig_start = start}};
    w.cluster.add_pod(pod).value();
  };
  running("half", first, "x", "4g.20gb", 0);
  running("quarter", second, "y", "2g.10gb", 0);
  running("other-quarter", second, "y", "2g.10gb", 2);
  const pod_id made = w.cluster.add_pod(a_pod("new").device({.mig_profile = "3g.20gb"})).value();
  w.run();
  REQUIRE(w.cluster.devices_of(made).size() == 1);
  CHECK(w.cluster.name_of(w.cluster.node_of(made), w.cluster.devices_of(made)[0]) == "y");
}

TEST_CASE("MigPacking without DynamicResources has no say about nodes without MIG", "[plugins][mig]") {
  types_world w{profile{priority_sort{}, mig_packing{}, node_resources_fit{}}};
  w.cluster.add_node(a_node("plain").cpu(64)).value();
  const pod_id made = w.cluster.add_pod(a_pod("p").device({.mig_profile = "1g.5gb"})).value();
  w.run();
  CHECK(w.where(made) == "plain");
}

TEST_CASE("GpuPricing without bids goes by fragments and prices alone", "[plugins][packing]") {
  types_world w{profile{priority_sort{}, gpu_pricing{std::make_shared<gpu_price_book>()}, device_fit{}}};
  w.cluster.add_node(a_node("n").cpu(64).cards(1, "A")).value();
  const pod_id made = w.cluster.add_pod(a_pod("p").milli(500)).value();
  w.run();
  CHECK(w.where(made) == "n");
}

TEST_CASE("GpuTypeValue names the type that it cannot be made with", "[plugins][types]") {
  const auto field = [](gpu_type_value::type one) {
    const auto wrong = gpu_type_value::check({.types = {{.name = "fine", .throughput = 1}, std::move(one)}});
    return wrong ? wrong->field : std::string{};
  };
  constexpr std::int64_t most = std::int64_t{1} << 40;
  CHECK(field({.name = "x", .throughput = most, .price = most}).empty());
  CHECK(field({.name = "x", .throughput = 1, .price = 0}) == "types[1].price");
  CHECK(field({.name = "x", .throughput = 1, .price = most + 1}) == "types[1].price");
  CHECK(field({.name = "x", .throughput = -1}) == "types[1].throughput");
  CHECK(field({.name = "x", .throughput = most + 1}) == "types[1].throughput");
}

}  // namespace gangsched::testing::gpu_types_test
