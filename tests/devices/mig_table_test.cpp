#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/devices/mig.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::mig_table_test {

namespace {

mig_profile_index named(const mig_table& table, std::string_view name) {
  const auto found = table.find_profile(name);
  INFO(table.name() << " " << name);
  REQUIRE(found);
  return *found;
}

mig_profile simple(std::string name, std::uint8_t compute, std::uint8_t memory, std::uint8_t starts) {
  mig_profile one;
  one.name = std::move(name);
  one.compute_slices = compute;
  one.memory_slices = memory;
  one.starts = starts;
  return one;
}

std::string refusal(std::uint8_t compute, std::uint8_t memory, std::vector<mig_profile> profiles) {
  const auto table = mig_table::make("X1", compute, memory, std::move(profiles));
  REQUIRE(!table);
  return table.error().message();
}

}  // namespace

TEST_CASE("every product has its profiles in its numbers", "[devices][mig]") {
  using counts = std::map<std::string, unsigned>;
  const auto seven = [](const char* one, const char* twice, const char* two, const char* three, const char* four,
                        const char* all) {
    return counts{{one, 7}, {std::string(one) + "+me", 1}, {twice, 4}, {two, 3}, {three, 2}, {four, 1}, {all, 1}};
  };
  const std::map<mig_product, counts> expected = {
      {mig_product::a30, {{"1g.6gb", 4}, {"1g.6gb+me", 1}, {"2g.12gb", 2}, {"2g.12gb+me", 1}, {"4g.24gb", 1}}},
      {mig_product::a100_40gb, seven("1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb")},
      {mig_product::a100_80gb, seven("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")},
      {mig_product::h100_80gb, seven("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")},
      {mig_product::h100_94gb, seven("1g.12gb", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb", "7g.94gb")},
      {mig_product::h100_96gb, seven("1g.12gb", "1g.24gb", "2g.24gb", "3g.48gb", "4g.48gb", "7g.96gb")},
      {mig_product::h200_141gb, seven("1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb")},
      {mig_product::gh200_144gb, seven("1g.18gb", "1g.36gb", "2g.36gb", "3g.72gb", "4g.72gb", "7g.144gb")},
      {mig_product::b200_180gb, seven("1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb")},
      {mig_product::gb200_186gb, seven("1g.24gb", "1g.47gb", "2g.47gb", "3g.95gb", "4g.95gb", "7g.189gb")},
      {mig_product::b300,
       {{"1g.34gb", 7}, {"1g.67gb", 4}, {"2g.67gb", 3}, {"3g.135gb", 2}, {"4g.135gb", 1}, {"7g.269gb", 1}}},
      {mig_product::gb300, {{"1g.35gb", 7}, {"2g.70gb", 3}, {"3g.139gb", 2}, {"7g.278gb", 1}}},
      {mig_product::rtx_pro_6000,
       {{"1g.24gb", 4},
        {"1g.24gb+me", 1},
        {"1g.24gb+gfx", 4},
        {"1g.24gb+me.all", 1},
        {"1g.24gb-me", 4},
        {"2g.48gb", 2},
        {"2g.48gb+gfx", 2},
        {"2g.48gb+me.all", 1},
        {"2g.48gb-me", 2},
        {"4g.96gb", 1},
        {"4g.96gb+gfx", 1}}}};
  REQUIRE(expected.size() == mig_products);
  for (const auto& [id, profiles] : expected) {
    const mig_table table = mig_table::of(id);
    INFO(table.name());
    counts found;
    for (std::size_t i = 0; i < table.profiles().size(); ++i) {
      const auto profile = static_cast<mig_profile_index>(i);
      found[table[profile].name] = table[profile].max_instances;
      CHECK(table.room({}, profile) == table[profile].max_instances);
      // As many as that can be made one after the other, and no more.
      mig_state state;
      unsigned made = 0;
      for (; table.fits(state, profile) != 0; ++made)
        state = table.place(state, {profile, *table.choose_start(state, profile)});
      CHECK(made == table[profile].max_instances);
    }
    CHECK(found == profiles);
    // The rules for tables of other products hold for these.
    const auto again = mig_table::make(std::string(table.name()), table.compute_slices(), table.memory_slices(),
                                       {table.profiles().begin(), table.profiles().end()});
    REQUIRE(again);
    CHECK(std::equal(again->profiles().begin(), again->profiles().end(), table.profiles().begin(),
                     table.profiles().end()));
  }
}

TEST_CASE("memory and SMs are what drivers report", "[devices][mig]") {
  const mig_table h100 = mig_table::of(mig_product::h100_94gb);
  CHECK(h100[named(h100, "1g.12gb+me")].memory_mib == 11008);  // 10.75 GiB
  CHECK(h100[named(h100, "1g.24gb")].sm == 26);
  CHECK(h100[named(h100, "2g.24gb")].sm == 32);
  CHECK(h100[named(h100, "3g.47gb")].sm == 60);
  CHECK(h100[named(h100, "3g.47gb")].memory_mib == 47488);  // 46.38 GiB
  const mig_table a100 = mig_table::of(mig_product::a100_80gb);
  CHECK(a100[named(a100, "3g.40gb")].memory_mib == 40192);
  CHECK(a100[named(a100, "7g.80gb")].sm == 98);
  CHECK(mig_table::of(mig_product::b300)[0].sm == 0);
}

TEST_CASE("a profile is found under its name and under its resource", "[devices][mig]") {
  const mig_table a100 = mig_table::of(mig_product::a100_40gb), rtx = mig_table::of(mig_product::rtx_pro_6000);
  for (const char* name : {"1g.5gb", "mig-1g.5gb", "nvidia.com/mig-1g.5gb"})
    CHECK(a100[named(a100, name)].name == "1g.5gb");
  for (const char* name : {"1g.5gb+me", "1g.5gb.me", "mig-1g.5gb.me", "nvidia.com/mig-1g.5gb.me"}) {
    CHECK(a100[named(a100, name)].name == "1g.5gb+me");
  }
  CHECK(rtx[named(rtx, "nvidia.com/mig-1g.24gb.me.all")].name == "1g.24gb+me.all");
  CHECK(rtx[named(rtx, "mig-1g.24gb.gfx")].name == "1g.24gb+gfx");
  CHECK(rtx[named(rtx, "nvidia.com/mig-1g.24gb-me")].name == "1g.24gb-me");
  CHECK(rtx[named(rtx, "mig-1g.24gb.me")].name == "1g.24gb+me");
  for (const char* name : {"", "mig-", "nvidia.com/gpu", "nvidia.com/1g.5gb", "1g.5g", "1g.5gbx", "1g+5gb",
                           "1g.10gb.me", "nvidia.com/mig-1g.5gb.gfx"}) {
    CHECK(!a100.find_profile(name));
  }
}

TEST_CASE("a product is found by what labels and drivers call it", "[devices][mig]") {
  const auto found = [](std::string_view name) {
    const auto id = find_mig_product(name);
    return id ? to_string(*id) : "none";
  };
  const std::vector<std::pair<std::string_view, std::string_view>> names = {
      {"NVIDIA-A30", "A30"},
      {"NVIDIA-A100-SXM4-40GB", "A100-40GB"},
      {"A100-SXM4-40GB", "A100-40GB"},
      {"NVIDIA-A100-PCIE-40GB-SHARED", "A100-40GB"},
      {"NVIDIA-A100-80GB-PCIe", "A100-80GB"},
      {"NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "A100-80GB"},
      {"NVIDIA-A800-SXM4-80GB", "A100-80GB"},
      {"NVIDIA A100X", "A100-80GB"},
      {"NVIDIA-H100-80GB-HBM3", "H100-80GB"},
      {"NVIDIA H100 80GB HBM3 MIG 1g.10gb", "H100-80GB"},
      {"NVIDIA-H100-PCIe", "H100-80GB"},
      {"NVIDIA-H800", "H100-80GB"},
      {"NVIDIA-H100-NVL", "H100-94GB"},
      {"NVIDIA-H100-NVL-MIG-3g.47gb", "H100-94GB"},
      {"NVIDIA-H20", "H100-96GB"},
      {"NVIDIA-H20-3e", "H200-141GB"},
      {"NVIDIA-GH200-480GB", "H100-96GB"},
      {"NVIDIA-GH200-144G-HBM3e", "GH200-144GB"},
      {"NVIDIA-H200", "H200-141GB"},
      {"NVIDIA-H200-NVL", "H200-141GB"},
      {"NVIDIA-B200", "B200-180GB"},
      {"NVIDIA-GB200", "GB200-186GB"},
      {"NVIDIA-B300-SXM6-AC", "B300"},
      {"NVIDIA-GB300", "GB300"},
      {"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "RTX-PRO-6000"},
      {"NVIDIA-A100", "none"},  // 40 or 80 GB
      {"NVIDIA-A100-SXM-64GB", "none"},
      {"NVIDIA-A10", "none"},
      {"Tesla-V100-SXM2-16GB", "none"},
      {"NVIDIA-RTX-6000-Ada-Generation", "none"},
      {"NVIDIA-RTX-PRO-5000-Blackwell", "none"},  // its starts are not known
      {"", "none"},
      {"--", "none"},
      {"MIG-A30", "none"}};
  for (const auto& [name, id] : names) {
    INFO(name);
    CHECK(found(name) == id);
  }
  for (std::size_t i = 0; i < mig_products; ++i)
    CHECK(find_mig_product(to_string(static_cast<mig_product>(i))) == static_cast<mig_product>(i));
}

TEST_CASE("a table of another product can be made", "[devices][mig]") {
  mig_profile me = simple("1g.16gb+me", 1, 1, 0b11);
  me.media = mig_media::one;
  const auto table = mig_table::make("X1", 2, 2, {simple("1g.16gb", 1, 1, 0b11), me, simple("2g.32gb", 2, 2, 0b1)});
  REQUIRE(table);
  CHECK(table->name() == "X1");
  CHECK((*table)[0].max_instances == 2);
  CHECK((*table)[1].max_instances == 1);
  CHECK(table->fits({}, *table->find_profile("nvidia.com/mig-2g.32gb")) == 1);
  CHECK(table->free_slices({0b01, 0}) == 1);
  CHECK(table->free_slices({0xff, 0}) == 0);
}

TEST_CASE("a table that contradicts itself is refused, and told why", "[devices][mig]") {
  const mig_profile one = simple("1g.5gb", 1, 1, 0x7f);
  CHECK(refusal(0, 8, {one}) == "MIG table X1: compute_slices: not in 1 ... 8");
  CHECK(refusal(7, 9, {one}) == "MIG table X1: memory_slices: not in 1 ... 8");
  CHECK(refusal(7, 8, {}) == "MIG table X1: profiles: there are none");
  CHECK(refusal(7, 8, std::vector<mig_profile>(65, one)) == "MIG table X1: profiles: more than 64");
  CHECK(refusal(7, 8, {simple("", 1, 1, 1)}) == "MIG table X1: profiles[0].name: it is empty");
  CHECK(refusal(7, 8, {one, one}) == "MIG table X1: profiles[1].name: \"1g.5gb\" is there already");
  CHECK(refusal(7, 8, {simple("1g.5gb+me", 1, 1, 1), simple("1g.5gb.me", 1, 1, 1)}) ==
        "MIG table X1: profiles[1].name: \"1g.5gb.me\" is there already");
  CHECK(refusal(7, 8, {simple("1g.5gb.me", 1, 1, 1), simple("1g.5gb+me", 1, 1, 1)}) ==
        "MIG table X1: profiles[1].name: \"1g.5gb+me\" is there already");
  CHECK(refusal(7, 8, {simple("0g", 0, 1, 1)}) == "MIG table X1: profiles[0].compute_slices: not in 1 ... 7");
  CHECK(refusal(7, 8, {simple("8g", 8, 8, 1)}) == "MIG table X1: profiles[0].compute_slices: not in 1 ... 7");
  CHECK(refusal(7, 8, {one, simple("1g", 1, 0, 1)}) == "MIG table X1: profiles[1].memory_slices: not in 1 ... 8");
  CHECK(refusal(7, 8, {simple("1g", 1, 9, 1)}) == "MIG table X1: profiles[0].memory_slices: not in 1 ... 8");
  CHECK(refusal(7, 8, {simple("1g", 1, 1, 0)}) == "MIG table X1: profiles[0].starts: there are none");
  CHECK(refusal(7, 8, {simple("3g", 3, 4, 0b100001)}) ==
        "MIG table X1: profiles[0].starts: an instance at 5 ends beyond the 8 memory slices");
  mig_profile many = one;
  many.max_instances = 8;
  CHECK(refusal(7, 8, {many}) == "MIG table X1: profiles[0].max_instances: the starts and media engines give 7");
  // As go-nvml's mock has it: 3g of three slices leaves room for 1g that the compute slices do not have.
  CHECK(refusal(7, 8, {simple("1g.5gb", 1, 1, 0xff), simple("3g.20gb", 3, 3, 0b1'0001)}) ==
        "MIG table X1: compute_slices: profiles that fit together need 8, and there are 7");
}

}  // namespace gangsched::testing::mig_table_test
