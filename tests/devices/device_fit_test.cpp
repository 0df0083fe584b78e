#include "gangsched/devices/device_fit.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <random>

#include "support/catch.hpp"

namespace gangsched::testing::device_fit_test {

namespace {

using form = device_grant::form;

/// The devices of one node with their words, and requests by hand.
struct bench_node {
  interner names;
  device_inventory inventory;
  std::vector<std::int64_t> words;
  std::vector<device_demand> demands;

  explicit bench_node(const node_devices& spec) {
    auto made = make_inventory(spec, names, "node n");
    INFO((made ? std::string{} : made.error().message()));
    REQUIRE(made);
    inventory = std::move(*made);
    complete_inventory(inventory);
    words.assign(inventory.words(), 0);
  }
  [[nodiscard]] device_state now() const { return {&inventory, words.data()}; }
  device_wants wants(std::vector<device_request> requests) {
    REQUIRE_FALSE(check(requests, "pod p"));
    demands = make_demands(requests, names);
    device_wants all;
    for (std::size_t i = 0; i < demands.size(); ++i)
      all.push_back({&demands[i], demands[i].count, static_cast<std::uint8_t>(i)});
    return all;
  }
  status choose(std::vector<device_request> requests, device_claim& out, const device_rules& rules = {}) {
    const device_wants all = wants(std::move(requests));
    const status said = choose_devices(now(), all, rules, out);
    CHECK(devices_fit(now(), all, rules).ok() == said.ok());
    return said;
  }
  /// Takes what is chosen; the GPUs, or the places of other devices, in order. Empty if there are none.
  std::vector<std::uint16_t> take(std::vector<device_request> requests, const device_rules& rules = {}) {
    device_claim claim;
    if (!choose(std::move(requests), claim, rules).ok()) return {};
    for (const device_claim::change& one : claim.changes) words[one.word] += static_cast<std::int64_t>(one.more);
    std::vector<std::uint16_t> chosen;
    for (const device_grant& one : claim.grants) chosen.push_back(one.device);
    return chosen;
  }
};
using chosen = std::vector<std::uint16_t>;

node_devices cards(std::size_t count, std::int64_t memory_mib = 0) {
  node_devices made;
  made.gpus.resize(count);
  made.gpu.memory_mib = memory_mib;
  return made;
}

}  // namespace

TEST_CASE("several GPUs come from the closest place that has enough", "[devices][fit]") {
  node_devices spec = cards(8);
  for (int i = 0; i < 8; ++i) {
    spec.gpus[static_cast<std::size_t>(i)].numa = i / 4;
    spec.gpus[static_cast<std::size_t>(i)].pcie = i / 2;
  }
  bench_node n{spec};
  CHECK(n.take({{.count = 1}}) == chosen{0});
  CHECK(n.take({{.count = 2}}) == chosen{2, 3});
  CHECK(n.take({{.count = 3}}) == chosen{4, 5, 6});
  CHECK(n.take({{.count = 2, .within = device_scope::pcie}}).empty());
  CHECK(n.take({{.count = 2, .within = device_scope::pcie, .within_preferred = true}}) == chosen{1, 7});
}

TEST_CASE("a scope that nobody told of has no sets, unless it is only preferred", "[devices][fit]") {
  bench_node n{cards(4)};
  CHECK(n.take({{.count = 2, .within = device_scope::numa}}).empty());
  CHECK(n.take({{.count = 2, .within = device_scope::nvlink}}).empty());
  CHECK(n.take({{.count = 2, .within = device_scope::nvlink, .within_preferred = true}}) == chosen{0, 1});
  CHECK(n.take({{.count = 1, .within = device_scope::nvlink}}) == chosen{2});
}

TEST_CASE("with two quads four GPUs are one quad, whatever is taken before", "[devices][fit]") {
  bench_node n{make_node_devices(gpu_machine::two_quads)};
  CHECK(n.take({{.count = 1}}) == chosen{0});
  CHECK(n.take({{.count = 4}}) == chosen{4, 5, 6, 7});
  CHECK(n.take({{.count = 2}}).size() == 2);
}

TEST_CASE("on a DGX-1 pairs and quads are NVIDIA's", "[devices][fit]") {
  bench_node n{make_node_devices(gpu_machine::dgx1_v100)};
  device_claim claim;
  REQUIRE(n.choose({{.count = 4}}, claim).ok());
  CHECK(claim.link_points > 900);
  CHECK(n.take({{.count = 4}}) == chosen{0, 1, 2, 3});
  CHECK(n.take({{.count = 4}}) == chosen{4, 5, 6, 7});
  CHECK(n.take({{.count = 1}}).empty());
}

TEST_CASE("nothing but a partition is handed out where the fabric honors them", "[devices][fit]") {
  node_devices spec = make_node_devices(gpu_machine::hgx_h100_8);
  const gpu_partition_table table = gpu_partition_table::nvswitch_8();
  spec.gpu.partitions.assign(table.partitions().begin(), table.partitions().end());
  spec.gpu.partition_policy = gpu_partition_policy::honor;
  bench_node n{spec};
  CHECK(n.take({{.count = 3}}).empty());
  CHECK(n.take({{.count = 2}}) == chosen{0, 1});
  CHECK(n.take({{.count = 4}}) == chosen{4, 5, 6, 7});
  CHECK(n.take({{.count = 1}}).size() == 1);
  CHECK(n.take({{.count = 2}}).empty());
}

TEST_CASE("shares go where the rule says", "[devices][fit]") {
  for (const auto& [rule, expected] :
       {std::pair{share_rule::tightest, chosen{1}}, {share_rule::widest, chosen{2}}, {share_rule::first, chosen{0}}}) {
    bench_node n{cards(3)};
    n.take({{.milli = 300}}, {.gpu = 0});
    n.take({{.milli = 500}}, {.gpu = 1});
    CHECK(n.take({{.milli = 400}}, {.share = rule}) == expected);
  }
  bench_node n{cards(3, 1000)};
  CHECK(n.take({{.count = 2, .milli = 400, .memory_mib = 600}}) == chosen{0, 1});
  CHECK(n.take({{.milli = 100, .memory_percent = 50}}) == chosen{2});
  CHECK(n.take({{.milli = 0, .memory_mib = 400}}) == chosen{0});
  CHECK(n.take({{.milli = 601}}, {.gpu = 0}) == chosen{2});  // it has no room: the rule decides
  CHECK(n.take({{.count = 1}}).empty());
  CHECK(n.take({{.count = 3, .milli = 601}}).empty());
}

TEST_CASE("hundredths of a GPU's memory are rounded down, so that all of them fit", "[devices][fit]") {
  bench_node n{cards(1, 16'384)};
  for (int tenth = 0; tenth < 10; ++tenth) CHECK(n.take({{.milli = 0, .memory_percent = 10}}) == chosen{0});
  CHECK(n.now().used_memory_mib(0) == 16'380);
  CHECK(n.take({{.milli = 0, .memory_percent = 10}}).empty());
}

TEST_CASE("under Koordinator's rule a share needs room in what it asks by", "[devices][fit]") {
  for (const auto rule : {gpu_memory_rule::mib, gpu_memory_rule::as_asked}) {
    node_devices spec = cards(1, 24'576);
    spec.gpu.memory_rule = rule;
    bench_node n{spec};
    CHECK(n.take({{.milli = 0, .memory_mib = 17'408}}) == chosen{0});  // 70.8 hundredths
    const bool twice = rule == gpu_memory_rule::as_asked;
    CHECK(n.take({{.milli = 0, .memory_percent = 30}}).size() == (twice ? 1 : 0));
    CHECK(n.now().used_memory_mib(0) == 17'408 + (twice ? 7'372 : 0));
    CHECK(n.now().used_memory_percent(0) == (twice ? 100 : 0));
    CHECK(n.take({{.milli = 0, .memory_percent = 1}}).size() == (twice ? 0 : 1));
    CHECK(n.take({{.milli = 0, .memory_mib = twice ? 1 : 6'924}}).empty());
  }
}

TEST_CASE("several GPUs with all of their memory are as close as whole ones", "[devices][fit]") {
  node_devices spec = make_node_devices(gpu_machine::hgx_a100_8, "", 1000);
  bench_node n{spec}, whole{spec};
  for (bench_node* one : {&n, &whole}) one->take({{.milli = 100, .memory_mib = 100}}, {.gpu = 0});
  CHECK(n.take({{.count = 4, .milli = 0, .memory_percent = 100}}) == whole.take({{.count = 4}}));
}

TEST_CASE("GPUs that a plugin names are taken where they are what is asked for", "[devices][fit]") {
  bench_node n{cards(4, 1000)};
  CHECK(n.take({{.count = 2}}, {.gpus = 0b1010}) == chosen{1, 3});
  CHECK(n.take({{.milli = 500}}, {.gpus = 0b0100}) == chosen{2});
  CHECK(n.take({{.milli = 600}}, {.gpus = 0b0100}) == chosen{0});                   // no room: the rule decides
  CHECK(n.take({{.milli = 300}}, {.gpus = 0b0101}) == chosen{0});                   // one too many: likewise
  CHECK(n.take({{.milli = 50}, {.milli = 50}}, {.gpus = 0b0100}) == chosen{2, 0});  // of the first request only

  node_devices spec = make_node_devices(gpu_machine::hgx_h100_8);
  const gpu_partition_table table = gpu_partition_table::nvswitch_8();
  spec.gpu.partitions.assign(table.partitions().begin(), table.partitions().end());
  spec.gpu.partition_policy = gpu_partition_policy::honor;
  bench_node honest{spec};
  CHECK(honest.take({{.count = 2}}, {.gpus = 0b110}) == chosen{0, 1});  // no partition
  CHECK(honest.take({{.count = 2}}, {.gpus = 0b11000000}) == chosen{6, 7});
  bench_node near{make_node_devices(gpu_machine::hgx_h100_8)};
  CHECK(near.take({{.count = 2, .within = device_scope::numa}}, {.gpus = 0b10001}).size() == 2);
  CHECK((near.now().gpu(0).idle() || near.now().gpu(4).idle()));
}

TEST_CASE("replicas are counted, and several may be of one GPU", "[devices][fit]") {
  node_devices spec = cards(2);
  spec.gpu.replicas = 3;
  bench_node n{spec};
  device_demand replica;
  replica.kind = device_demand::form::replica;
  const auto take = [&](std::int32_t count) {
    device_wants wants;
    wants.push_back({&replica, count, counted_request});
    device_claim claim;
    if (!choose_devices(n.now(), wants, {}, claim).ok()) return chosen{};
    chosen all;
    for (const device_grant& one : claim.grants) all.push_back(one.device);
    for (const device_claim::change& one : claim.changes) n.words[one.word] += static_cast<std::int64_t>(one.more);
    return all;
  };
  CHECK(take(4) == chosen{0, 0, 0, 1});
  CHECK(n.take({{.count = 1}}).empty());
  CHECK(take(3).empty());
  CHECK(take(2) == chosen{1, 1});
}

TEST_CASE("models, memory and compute capability", "[devices][fit]") {
  node_devices spec = cards(1, 40960);
  spec.gpu.model = "A100";
  spec.gpu.compute_capability = 80;
  bench_node n{spec};
  device_claim claim;
  const auto code_of = [&](device_request request) { return n.choose({std::move(request)}, claim).code; };
  CHECK(code_of({.models = {"H100", "A100"}}) == code::success);
  CHECK(code_of({.models = {"H100"}}) == code::unresolvable);
  CHECK(code_of({.least_memory_mib = 40960}) == code::success);
  CHECK(code_of({.least_memory_mib = 40961}) == code::unresolvable);
  CHECK(code_of({.least_compute_capability = 80}) == code::success);
  CHECK(code_of({.least_compute_capability = 90}) == code::unresolvable);
  CHECK(code_of({.count = 2}) == code::unresolvable);
  CHECK(code_of({.mig_profile = "1g.5gb"}) == code::unresolvable);
  CHECK(choose_devices({}, n.wants({{.count = 1}}), {}, claim).code == code::unresolvable);
}

TEST_CASE("MIG instances are put where they leave the most, and only where they may be", "[devices][fit][mig]") {
  node_devices spec = cards(2, 40960);
  spec.gpu.model = "NVIDIA-A100-SXM4-40GB";
  for (gpu_spec& one : spec.gpus) one.mig = mig_mode::dynamic;
  bench_node n{spec};
  device_claim claim;
  REQUIRE(n.choose({{.mig_profile = "nvidia.com/mig-3g.20gb"}}, claim).ok());
  CHECK(claim.grants.front().mig_start == 4);
  CHECK(n.take({{.mig_profile = "3g.20gb"}}) == chosen{0});
  CHECK(n.take({{.mig_profile = "4g.20gb"}}) == chosen{0});
  CHECK(n.now().gpu(0).slices() == 0xff);
  CHECK(n.take({{.count = 7, .mig_profile = "1g.5gb"}}) == chosen(7, 1));
  CHECK(n.take({{.mig_profile = "1g.5gb"}}).empty());
  CHECK(n.take({{.count = 1}}).empty());
  CHECK(n.choose({{.mig_profile = "1g.10gb.nonsense"}}, claim).code == code::unresolvable);
}

TEST_CASE(
    "MIG instances on random nodes go where a search of all places says, and whether one fits is known without it",
    "[devices][fit][mig]") {
  std::mt19937_64 random{11};
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  const mig_table table = mig_table::of(mig_product::a100_40gb);
  const std::vector<mig_instance> divided[] = {
      {{"3g.20gb", 0}, {"2g.10gb", 4}, {"1g.5gb", 6}}, {{"4g.20gb", 0}, {"1g.5gb+me", 5}}, {{"7g.40gb", 0}}};
  std::size_t placed = 0, refused = 0;
  for (int round = 0; round < 60; ++round) {
    node_devices spec = cards(1 + below(8), 40960);
    spec.gpu.model = "NVIDIA-A100-SXM4-40GB";
    for (gpu_spec& one : spec.gpus) {
      one.mig = static_cast<mig_mode>(below(3));
      if (one.mig == mig_mode::fixed) one.instances = divided[below(3)];
    }
    if (std::all_of(spec.gpus.begin(), spec.gpus.end(), [](const gpu_spec& one) { return one.mig == mig_mode::off; }))
      continue;
    bench_node n{spec};
    struct instance {
      std::size_t gpu;
      mig_placement at;
    };
    std::vector<instance> there;
    std::vector<bool> whole(spec.gpus.size()), sick(spec.gpus.size());
    for (int step = 0; step < 60; ++step) {
      const std::size_t gpu = below(spec.gpus.size());
      if (below(12) == 0) {
        sick[gpu] = !sick[gpu];
        n.words[2 * gpu] =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(n.words[2 * gpu]) ^ gpu_word::unhealthy_bit);
      } else if (n.words[2 * gpu] == 0 && spec.gpus[gpu].mig != mig_mode::fixed && below(8) == 0) {
        whole[gpu] = true;
        n.words[2 * gpu] = static_cast<std::int64_t>(gpu_word::whole);
      }
      const auto profile = static_cast<mig_profile_index>(below(table.profiles().size()));
      const mig_rule rule = static_cast<mig_rule>(below(3));

      // What is left of each GPU, and of all places the one that the rule takes.
      std::optional<instance> best;
      std::array<std::int64_t, 3> least{};
      for (std::size_t g = 0; g < spec.gpus.size(); ++g) {
        if (spec.gpus[g].mig == mig_mode::off || whole[g] || sick[g]) continue;
        mig_state state;
        std::int64_t sharing = 0;
        for (const instance& one : there)
          if (one.gpu == g) state = table.place(state, one.at), ++sharing;
        unsigned starts = 0;
        for (unsigned start = 0; start < 8; ++start) {
          const mig_placement at{profile, static_cast<std::uint8_t>(start)};
          const auto is_it = [&](const mig_instance& one) {
            return one.start == static_cast<std::int32_t>(start) && table.find_profile(one.profile) == profile;
          };
          const std::vector<mig_instance>& fixed = spec.gpus[g].instances;
          const bool allowed = spec.gpus[g].mig == mig_mode::dynamic ? (table.fits(state, profile) >> start & 1) != 0
                                                                     : std::any_of(fixed.begin(), fixed.end(), is_it) &&
                                                                           (table.slices(at) & state.mask) == 0;
          if (allowed) starts |= 1u << start;
        }
        for (unsigned start = 0; start < 8; ++start) {
          if ((starts >> start & 1) == 0) continue;
          const mig_placement at{profile, static_cast<std::uint8_t>(start)};
          const auto all = static_cast<std::uint8_t>(starts);
          const std::uint8_t hami = table.pick(all, profile, mig_start::hami),
                             low = table.pick(all, profile, mig_start::low);
          if (rule == mig_rule::best_fit && start != hami) continue;
          if (rule == mig_rule::first_fit && start != low) continue;
          const std::int64_t next = rule == mig_rule::fragmentation ? -sharing
                                    : rule == mig_rule::best_fit    ? table.free_slices(state)
                                                                    : 0;
          const std::int64_t delta =
              rule == mig_rule::fragmentation ? n.inventory.fragmentation->delta(table, state, at) : 0;
          const std::array<std::int64_t, 3> rank{
              delta, next, static_cast<std::int64_t>(g) * 16 + (start == hami ? 0 : 1 + static_cast<int>(start))};
          if (!best || rank < least) best = instance{g, at}, least = rank;
        }
      }
      device_claim claim;
      const std::string name = table.profiles()[profile].name;
      const status said = n.choose({{.mig_profile = name}}, claim, {.mig = rule});
      INFO("round " << round << ", step " << step << ", " << name);
      REQUIRE(said.ok() == best.has_value());
      ++(best ? placed : refused);
      if (!best) continue;
      CHECK(claim.grants.front().device == best->gpu);
      CHECK(claim.grants.front().mig_start == best->at.start);
      for (const device_claim::change& one : claim.changes) n.words[one.word] += static_cast<std::int64_t>(one.more);
      there.push_back(*best);
    }
  }
  CHECK(placed > 300);
  CHECK(refused > 300);
}

TEST_CASE("a GPU that is divided already has what it was divided into", "[devices][fit][mig]") {
  node_devices spec = cards(2, 40960);
  spec.gpu.model = "NVIDIA-A100-SXM4-40GB";
  spec.gpus[0].mig = mig_mode::fixed;
  spec.gpus[0].instances = {{"3g.20gb", 0}, {"2g.10gb", 4}, {"1g.5gb", 6}};
  bench_node n{spec};
  CHECK(n.take({{.mig_profile = "4g.20gb"}}).empty());
  CHECK(n.take({{.mig_profile = "2g.10gb"}}) == chosen{0});
  CHECK(n.take({{.mig_profile = "2g.10gb"}}).empty());
  CHECK(n.take({{.count = 1}}) == chosen{1});
  CHECK(n.take({{.count = 1}}).empty());

  spec.gpus[0].instances = {{"3g.20gb", 0}, {"4g.20gb", 0}};
  interner names;
  const auto refused = make_inventory(spec, names, "node n");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().field == "devices.gpus[0].instances[1].start");
  spec.gpu.model = "unheard of";
  CHECK(make_inventory(spec, names, "node n").error().field == "devices.gpu.model");
}

TEST_CASE("a NIC is behind the switch of the GPU it is for", "[devices][fit]") {
  node_devices spec = cards(4);
  for (int i = 0; i < 4; ++i) {
    spec.gpus[static_cast<std::size_t>(i)].pcie = i / 2;
    spec.gpus[static_cast<std::size_t>(i)].numa = 0;
    spec.others.push_back(
        {.id = "nic" + std::to_string(i), .device_class = "rdma", .units = 2, .numa = 0, .pcie = 3 - i});
  }
  bench_node n{spec};
  const device_request nic{.device_class = "rdma", .beside_gpus = device_scope::pcie};
  CHECK(n.take({{.count = 1}, nic}) == chosen{0, 3});
  CHECK(n.take({{.count = 1}, nic}) == chosen{1, 3});
  CHECK(n.take({{.count = 2}, {.device_class = "rdma", .count = 2, .beside_gpus = device_scope::pcie}})
            .empty());  // one NIC a switch
  device_request preferred = nic;
  preferred.beside_preferred = true;
  preferred.count = 2;
  CHECK(n.take({{.count = 2}, preferred}) == chosen{2, 3, 2, 0});
  CHECK(n.take({{.device_class = "rdma", .units = 3}}).empty());
  for (int i = 0; i < 4; ++i) spec.others[static_cast<std::size_t>(i)].pcie = i / 2;
  const auto nics = [&](std::int32_t count) {
    return bench_node{spec}.take(
        {{.count = 4}, {.device_class = "rdma", .count = count, .beside_gpus = device_scope::pcie}});
  };
  CHECK(nics(2) == chosen{0, 1, 2, 3, 0, 2});  // one behind each of the two switches
  CHECK(nics(4) == chosen{0, 1, 2, 3, 0, 2, 1, 3});
}

TEST_CASE("other devices are chosen in their order, by selectors, and given up again if the rest does not fit",
          "[devices][fit][dra]") {
  node_devices spec;
  spec.counters = {{"gpu-0/memory", 8}};
  for (int i = 0; i < 3; ++i) {
    spec.others.push_back(
        {.id = "part" + std::to_string(i),
         .device_class = "mig",
         .attributes = {{"size", std::int64_t{i + 2}}, {"fast", i == 1}, {"name", "part" + std::to_string(i)}},
         .consumes = {{"gpu-0/memory", 2 * i + 2}}});
  }
  using op = attribute_operator;
  const auto where = [](std::vector<attribute_selector> selectors) {
    return device_request{.device_class = "mig", .selectors = std::move(selectors)};
  };
  bench_node n{spec};
  SECTION("the first that the selectors admit") {
    CHECK(n.take({where({{"size", op::greater_equal, {std::int64_t{3}}}})}) == chosen{1});
    CHECK(n.take({where({{"size", op::not_equal, {std::int64_t{3}}}})}) == chosen{0});
    CHECK(n.take({where({})}).empty());  // 6 of the counter are used, part2 takes 6
  }
  SECTION("types do not mix, and what is absent matches nothing but absent") {
    CHECK(n.take({where({{"size", op::equal, {std::string{"2"}}}})}).empty());
    CHECK(n.take({where({{"nothing", op::less, {std::int64_t{2}}}})}).empty());
    CHECK(n.take({where({{"nothing", op::absent}, {"name", op::in, {std::string{"part2"}, std::string{"part1"}}}})}) ==
          chosen{1});
  }
  SECTION("an early request gives way to a later one that can have nothing else") {
    CHECK(n.take({where({}), where({{"name", op::equal, {std::string{"part0"}}}})}) == chosen{1, 0});
  }
  SECTION("the first alternative that fits") {
    device_request first;
    first.first_of = {where({{"size", op::equal, {std::int64_t{9}}}}), where({{"fast", op::equal, {true}}}), where({})};
    CHECK(n.take({first}) == chosen{1});
  }
  SECTION("all of them, or none") {
    device_request all = where({{"size", op::less, {std::int64_t{4}}}});
    all.all = true;
    CHECK(n.take({all}) == chosen{0, 1});
    CHECK(n.take({all}).empty());
    device_request look = all;
    look.admin = true;
    CHECK(n.take({look}) == chosen{0, 1});
    CHECK(n.words[n.inventory.first_counter()] == 6);
  }
}

TEST_CASE("capacity is how often a pod can be placed, and what it fills is free", "[devices][fit]") {
  std::mt19937 random{7};
  const auto dice = [&](int sides) { return static_cast<int>(random() % static_cast<unsigned>(sides)); };
  for (int round = 0; round < 400; ++round) {
    node_devices spec = dice(2) == 0 ? cards(static_cast<std::size_t>(1 + dice(8)), 1000)
                                     : make_node_devices(gpu_machine::dgx1_v100, "", 1000);
    bench_node n{spec};
    for (int i = 0; i < dice(6); ++i)
      n.take({{.milli = 100 * (1 + dice(9)), .memory_mib = 50 * dice(10)}}, {.share = share_rule::widest});
    std::vector<device_request> asked = {
        dice(2) == 0 ? device_request{.count = 1 + dice(3)}
                     : device_request{.milli = 100 * (1 + dice(9)), .memory_mib = 100 * dice(5)}};
    if (dice(4) == 0) asked.push_back({.milli = 300});
    const std::int64_t room = device_capacity(n.now(), n.wants(asked), {}, 100);
    std::int64_t placed = 0;
    while (!n.take(asked).empty()) ++placed;
    REQUIRE(placed == room);
    for (std::size_t gpu = 0; gpu < n.inventory.gpus.size(); ++gpu) {
      REQUIRE(n.now().gpu(gpu).milli() <= whole_gpu);
      REQUIRE(n.now().used_memory_mib(gpu) <= 1000);
    }
  }
}

TEST_CASE("an alternative that cannot be had in full leaves nothing taken", "[devices][fit][mig]") {
  const auto either = [](std::int32_t large) {
    return std::vector<device_request>{
        {.first_of = {{.count = large, .mig_profile = "3g.40gb"}, {.count = 1, .mig_profile = "1g.10gb"}}}};
  };
  node_devices spec = cards(1, 81'920);
  spec.gpu.model = "NVIDIA-A100-SXM4-80GB";
  spec.gpus[0].mig = mig_mode::dynamic;
  bench_node one{spec};
  CHECK(one.take(either(3)) == chosen{0});
  CHECK(std::popcount(one.now().gpu(0).slices()) == 1);
  spec.gpus.push_back(spec.gpus[0]);
  bench_node two{spec};
  CHECK(two.take(either(5)).size() == 1);
  CHECK(std::popcount(two.now().gpu(0).slices()) + std::popcount(two.now().gpu(1).slices()) == 1);
  CHECK(two.take(either(3)).size() == 3);

  bench_node plain{cards(4)};  // nor is what a plugin named used up
  CHECK(plain.take({{.first_of = {{.count = 2, .within = device_scope::pcie}, {.count = 1}}}}, {.gpus = 0b0100}) ==
        chosen{2});
}

TEST_CASE("GPUs with all of their memory are a partition where only partitions are handed out", "[devices][fit]") {
  node_devices spec = make_node_devices(gpu_machine::hgx_h100_8, "", 1000);
  const gpu_partition_table table = gpu_partition_table::nvswitch_8();
  spec.gpu.partitions.assign(table.partitions().begin(), table.partitions().end());
  spec.gpu.partition_policy = gpu_partition_policy::honor;
  bench_node n{spec};
  for (const int gpu : {1, 2, 3, 5, 6, 7})
    n.take({{.milli = 100, .memory_mib = 100}}, {.gpu = static_cast<std::int8_t>(gpu)});
  const std::vector<device_request> two{{.count = 2, .milli = 0, .memory_percent = 100}};
  CHECK(n.take(two).empty());  // 0 and 4; what the filter says is compared there
  bench_node empty{spec};
  CHECK(empty.take(two) == chosen{0, 1});
  const std::vector<device_request> one{{.milli = 500, .memory_percent = 100}};
  CHECK(empty.take(one) == chosen{2});  // leaves a quad
  spec.gpu.partitions.erase(spec.gpu.partitions.begin(), spec.gpu.partitions.begin() + 8);
  CHECK(bench_node{spec}.take(one).empty());
}

TEST_CASE("several shares are inside one scope if they have to be", "[devices][fit]") {
  node_devices spec = cards(4);
  for (std::size_t i = 0; i < 4; ++i) spec.gpus[i].numa = static_cast<std::int32_t>(i / 2);
  spec.gpu.memory_mib = 1000;
  const auto two = [](bool preferred) {
    return std::vector<device_request>{
        {.count = 2, .milli = 0, .memory_mib = 400, .within = device_scope::numa, .within_preferred = preferred}};
  };
  bench_node n{spec};
  const auto fill = [&](std::int8_t gpu) { n.take({{.milli = 0, .memory_mib = 700}}, {.gpu = gpu}); };
  CHECK(n.take(two(false), {.gpus = 0b0110}) == chosen{0, 1});
  fill(2);
  CHECK(n.take(two(false)) == chosen{0, 1});  // by the share rule alone 0 and 1 as well, and 0 and 3 next
  fill(2), n.take({{.milli = 0, .memory_mib = 400}}, {.gpu = 3});
  CHECK(n.take(two(false)).empty());
  bench_node apart{spec};
  apart.take({{.milli = 0, .memory_mib = 700}}, {.gpu = 1}), apart.take({{.milli = 0, .memory_mib = 700}}, {.gpu = 2});
  CHECK(apart.take(two(false)).empty());
  CHECK(apart.take(two(true)) == chosen{0, 3});
}

TEST_CASE("nobody has a part of memory of which nobody knows how much there is", "[devices][fit]") {
  node_devices spec = cards(1);
  device_claim claim;
  bench_node unknown{spec};
  CHECK(unknown.choose({{.milli = 0, .memory_percent = 10}}, claim).code == code::unresolvable);
  CHECK(unknown.choose({{.milli = 500}}, claim).ok());
  spec.gpu.memory_rule = gpu_memory_rule::as_asked;  // there hundredths are counted by themselves
  bench_node counted{spec};
  for (int tenth = 0; tenth < 10; ++tenth) CHECK(counted.take({{.milli = 0, .memory_percent = 10}}) == chosen{0});
  CHECK(counted.take({{.milli = 0, .memory_percent = 10}}).empty());
}

TEST_CASE("a GPU has no more pods than its word can count", "[devices][fit]") {
  bench_node n{cards(1, 65'536)};
  n.words[0] = static_cast<std::int64_t>(0x7ffe * gpu_word::one_pod);
  n.words[1] = 0x7ffe;
  CHECK(n.take({{.milli = 0, .memory_mib = 1}}) == chosen{0});
  CHECK(n.now().gpu(0).pods() == 0x7fff);
  CHECK(n.take({{.milli = 0, .memory_mib = 1}}).empty());
  CHECK_FALSE(n.now().gpu(0).unhealthy());
}

/// What is chosen before another request is chosen from words that are kept up to date; a request alone needs none of that.
TEST_CASE("a request alone gets what it gets where another one follows", "[devices][fit]") {
  std::mt19937 random{17};
  const auto dice = [&](int sides) { return static_cast<int>(random() % static_cast<unsigned>(sides)); };
  int fitting = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    node_devices spec = make_node_devices(dice(2) == 0 ? gpu_machine::dgx1_v100 : gpu_machine::two_quads, "", 1000);
    spec.gpus.resize(static_cast<std::size_t>(dice(9)));
    if (spec.gpus.size() != 8) spec.gpu.links.clear();
    spec.gpu.replicas = 1 + dice(3);
    for (int i = dice(7); i > 0; --i) {
      other_device& one = spec.others.emplace_back();
      one.id = "d" + std::to_string(i), one.device_class = dice(3) == 0 ? "nic" : "card", one.units = 1 + dice(2);
      one.attributes = {{"size", std::int64_t{dice(3)}}, {"kind", std::string(1, static_cast<char>('a' + dice(2)))}};
      if (dice(3) == 0) one.capacities["lanes"] = {.amount = 4}, one.shared = dice(2) == 0;
      if (one.shared) one.units = 1;
      if (dice(3) == 0 && !one.shared) one.consumes = {{"c", 1 + dice(2)}};
    }
    spec.counters = {{"c", 4}};
    spec.others.push_back({.id = "last", .device_class = "always", .units = 1'000'000});
    bench_node n{spec};
    for (int step = 0; step < 12; ++step) {
      device_request one{.count = 1 + dice(3) * dice(2)};
      if (dice(2) == 0) {
        one.device_class = "card";
        if (dice(2) == 0) one.selectors = {{"size", attribute_operator::less, {std::int64_t{2}}}};
        if (dice(3) == 0) one.selectors.push_back({"kind", attribute_operator::equal, {std::string{"a"}}});
        if (dice(4) == 0) one.capacities = {{"lanes", 2}};
        one.all = dice(6) == 0, one.admin = dice(6) == 0;
      } else if (dice(2) == 0) {
        one.milli = 250 * (1 + dice(4));
      } else if (dice(2) == 0) {
        one.within = device_scope::nvlink, one.within_preferred = dice(2) == 0;
      }
      const device_rules rules{.share = static_cast<share_rule>(dice(3))};
      device_claim alone, by_itself, with_other;
      const bool fits = n.choose({one}, alone, rules).ok();
      CHECK(choose_devices(n.now(), n.wants({one}).front(), rules, by_itself).ok() == fits);
      const bool both = n.choose({one, {.device_class = "always"}}, with_other, rules).ok();
      INFO("round " << round << ", step " << step);
      REQUIRE(both == fits);
      ++(fits ? fitting : refused);
      if (!fits) continue;
      CHECK(alone.link_points == with_other.link_points);
      REQUIRE(with_other.grants.size() == alone.grants.size() + 1);
      CHECK(std::equal(alone.grants.begin(), alone.grants.end(), with_other.grants.begin()));
      CHECK(std::equal(alone.grants.begin(), alone.grants.end(), by_itself.grants.begin(), by_itself.grants.end()));
      CHECK(alone.changes.size() == by_itself.changes.size());
      for (const device_claim::change& each : alone.changes) n.words[each.word] += static_cast<std::int64_t>(each.more);
      if (dice(5) != 0) continue;
      auto word = static_cast<std::size_t>(dice(static_cast<int>(n.inventory.first_counter()) - 1));
      if (word < n.inventory.first_other()) word &= ~std::size_t{1};
      n.words[word] |= static_cast<std::int64_t>(gpu_word::unhealthy_bit);
    }
  }
  CHECK(fitting > 500);
  CHECK(refused > 500);
}

}  // namespace gangsched::testing::device_fit_test
