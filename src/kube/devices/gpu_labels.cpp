#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "gangsched/devices/device_demand.hpp"
#include "gangsched/src/kube/devices/devices.hpp"

// GPUs by the labels that people have: those of NVIDIA's GPU feature discovery, of AMD's labeller, and of Alibaba's traces. What labels
// leave open, such as which GPU is divided how, is chosen; a node of which they tell too little is counted as before.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

namespace {

constexpr std::string_view nvidia_gpu = "nvidia.com/gpu";
constexpr std::int64_t most_gpus = static_cast<std::int64_t>(max_node_gpus);

constexpr std::pair<std::string_view, gpu_machine> machine_names[] = {{"dgx1-p100", gpu_machine::dgx1_p100},
                                                                      {"dgx1-v100", gpu_machine::dgx1_v100},
                                                                      {"dgx2", gpu_machine::dgx2},
                                                                      {"hgx-a100-4", gpu_machine::hgx_a100_4},
                                                                      {"hgx-a100-8", gpu_machine::hgx_a100_8},
                                                                      {"hgx-h100-8", gpu_machine::hgx_h100_8},
                                                                      {"hgx-b200-8", gpu_machine::hgx_b200_8},
                                                                      {"bridged-pairs", gpu_machine::bridged_pairs},
                                                                      {"two-quads", gpu_machine::two_quads},
                                                                      {"nvl72-tray", gpu_machine::nvl72_tray}};

/// What the mainboard calls itself: "NVIDIA DGX H100", "DGXA100-920-23687-2530-000", "DGX-1 with V100-32".
std::optional<gpu_machine> find_machine(std::string_view board, std::string_view product, std::size_t gpus) {
  std::string name;
  for (const char c : board)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  if (has("GB200") || has("GB300")) return gpu_machine::nvl72_tray;
  if (!has("DGX") && !has("HGX")) return std::nullopt;
  if (has("A100") || has("A800")) return gpus == 4 ? gpu_machine::hgx_a100_4 : gpu_machine::hgx_a100_8;
  if (has("H100") || has("H200") || has("H800") || has("H20")) return gpu_machine::hgx_h100_8;
  if (has("B200") || has("B300")) return gpu_machine::hgx_b200_8;
  if (has("DGX2")) return gpu_machine::dgx2;
  if (has("DGX1"))
    return product.find("P100") != std::string_view::npos ? gpu_machine::dgx1_p100 : gpu_machine::dgx1_v100;
  return std::nullopt;
}

class label_reader {
 public:
  label_reader(reader& read, const place& of, const label_map& annotations, node_spec& node)
      : read_(&read), of_(of), annotations_(&annotations), node_(&node), made_(node.devices) {}

  bool run() {
    if (find(node_->labels, "nvidia.com/gpu.product") != nullptr ||
        find(node_->labels, "nvidia.com/gpu.count") != nullptr)
      return nvidia();
    if (const std::string* mig = find(*annotations_, "gangsched.dev/mig"); mig != nullptr)
      return fail(annotation("gangsched.dev/mig"), errc::malformed, "the node has no label nvidia.com/gpu.product");
    if (amounts("amd.com/gpu") > 0 && find(node_->labels, "amd.com/gpu.product-name") != nullptr) return amd();
    if (amounts("alibabacloud.com/gpu-count") > 0) return alibaba();
    return true;
  }

 private:
  static const std::string* find(const label_map& in, const std::string& key) {
    const auto found = in.find(key);
    return found == in.end() ? nullptr : &found->second;
  }
  [[nodiscard]] spot label(std::string_view key) const { return find_spot(of_, {"metadata", "labels", key}); }
  [[nodiscard]] spot annotation(std::string_view key) const { return find_spot(of_, {"metadata", "annotations", key}); }
  bool fail(const spot& at, errc code, std::string reason) {
    return read_->fail(code, at.line, at.path, std::move(reason));
  }
  bool warn(const spot& at, std::string reason) { return read_->warn(at.line, at.path, std::move(reason)); }

  /// Of a resource, or 0.
  [[nodiscard]] std::int64_t amounts(const std::string& resource) const {
    std::int64_t amount = 0;
    const auto found = node_->allocatable.find(resource);
    if (found != node_->allocatable.end() && !found->second.value(amount)) amount = 0;
    return amount;
  }
  /// The label's number, if it is there.
  bool number(const std::string& key, std::int64_t& out, std::int64_t most) {
    const std::string* text = find(node_->labels, key);
    if (text == nullptr) return true;
    const auto [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), out);
    if (wrong != std::errc{} || end != text->data() + text->size() || out < 0 || out > most)
      return fail(label(key), errc::malformed, fmt::format("\"{}\" is no whole number in 0 to {}", *text, most));
    return true;
  }

  bool nvidia() {
    std::int64_t count = -1, memory = 0, major = 0, minor = 0, replicas = 1;
    constexpr std::int64_t most = 1 << 30;
    if (!number("nvidia.com/gpu.count", count, most) || !number("nvidia.com/gpu.memory", memory, most) ||
        !number("nvidia.com/gpu.compute.major", major, 999) || !number("nvidia.com/gpu.compute.minor", minor, 9) ||
        !number("nvidia.com/gpu.replicas", replicas, 10'000))
      return false;
    replicas = std::max<std::int64_t>(replicas, 1);
    if (const std::string* product = find(node_->labels, "nvidia.com/gpu.product")) model_ = *product;
    if (model_.ends_with("-SHARED")) model_.resize(model_.size() - 7);
    // Strategy "single": every device is the same instance, and labels and resource count those. Nothing to choose.
    if (model_.find("-MIG-") != std::string::npos) return own_annotations_without_gpus();
    const std::string renamed = "nvidia.com/gpu.shared";  // what sharing with renameByDefault calls it
    const std::string resource = amounts(renamed) > 0 ? renamed : std::string{nvidia_gpu};
    if (count < 0) count = amounts(resource) / replicas;
    if (count == 0) return own_annotations_without_gpus();
    if (count > most_gpus)
      return warn(label("nvidia.com/gpu.count"), fmt::format("more than {} GPUs are counted only", most_gpus));
    gpu_class& gpu = made_.gpu;
    gpu.model = model_;
    gpu.memory_mib = memory;
    gpu.compute_capability = static_cast<std::int32_t>(10 * major + minor);
    gpu.replicas = static_cast<std::int32_t>(replicas);
    gpu.resource = resource;
    name_gpus(static_cast<std::size_t>(count));
    if (!inside() || !divide(amounts(resource) / replicas)) return false;
    if (counted_only_) made_ = {};
    node_->devices = std::move(made_);
    return true;
  }

  bool own_annotations_without_gpus() {
    for (const char* key : {"gangsched.dev/mig", "gangsched.dev/gpu-machine"})
      if (find(*annotations_, key) != nullptr)
        return fail(annotation(key), errc::malformed, "the node has no GPUs that could be told apart");
    return true;
  }

  void name_gpus(std::size_t count) {
    made_.gpus.resize(count);
    for (std::size_t i = 0; i < count; ++i) made_.gpus[i].id = fmt::format("GPU-{}", i);
  }

  /// Links, switches and NUMA cells of a machine that is known.
  bool inside() {
    std::optional<gpu_machine> machine;
    if (const std::string* own = find(*annotations_, "gangsched.dev/gpu-machine")) {
      std::string all;
      for (const auto& [name, which] : machine_names) {
        if (name == *own) machine = which;
        (all += all.empty() ? "" : ", ") += name;
      }
      const spot at = annotation("gangsched.dev/gpu-machine");
      if (!machine) return fail(at, errc::unknown, fmt::format("\"{}\" is not one of {}", *own, all));
      const std::size_t gpus = make_gpu_topology(*machine).links.gpus();
      if (gpus != made_.gpus.size())
        return fail(at, errc::malformed, fmt::format("{} has {} GPUs, the node {}", *own, gpus, made_.gpus.size()));
    } else if (const std::string* board = find(node_->labels, "nvidia.com/gpu.machine")) {
      machine = find_machine(*board, model_, made_.gpus.size());
    }
    if (!machine) return true;
    node_devices known = make_node_devices(*machine);
    if (known.gpus.size() != made_.gpus.size()) return true;  // part of a machine, as virtual ones have it
    for (std::size_t i = 0; i < known.gpus.size(); ++i) {
      made_.gpus[i].numa = known.gpus[i].numa;
      made_.gpus[i].pcie = known.gpus[i].pcie;
    }
    made_.gpu.links = std::move(known.gpu.links);
    return true;
  }

  // --- MIG

  bool divide(std::int64_t undivided) {
    const std::string* dynamic = find(*annotations_, "gangsched.dev/mig");
    if (dynamic != nullptr) return divide_dynamically(*dynamic);
    std::vector<std::pair<std::string, std::int64_t>> wanted;  // label, count
    for (const auto& [key, text] : node_->labels) {
      if (!key.starts_with("nvidia.com/mig-") || !key.ends_with(".count")) continue;
      std::int64_t count = 0;
      if (!number(key, count, 8 * most_gpus)) return false;
      if (count != 0) wanted.emplace_back(key, count);
    }
    if (wanted.empty()) return true;
    const auto product = find_mig_product(model_);
    if (!product) {
      counted_only_ = true;
      return warn(
          label("nvidia.com/gpu.product"),
          fmt::format("\"{}\" has no MIG table that the library knows: its instances are counted only", model_));
    }
    if (made_.gpu.replicas > 1) {
      counted_only_ = true;
      return warn(label("nvidia.com/gpu.replicas"), "GPUs that are shared beside divided ones are counted only");
    }
    const mig_table table = mig_table::of(*product);
    std::vector<std::pair<mig_profile_index, std::int64_t>> profiles;
    for (const auto& [key, count] : wanted) {
      const std::string name = key.substr(0, key.size() - 6);
      const auto profile = table.find_profile(name);
      if (!profile)
        return fail(label(key), errc::unknown,
                    fmt::format("{} has no MIG profile \"{}\"", table.name(), mig_profile_name(name)));
      profiles.emplace_back(*profile, count);
    }
    const auto divided = static_cast<std::int64_t>(made_.gpus.size()) -
                         std::min<std::int64_t>(undivided, static_cast<std::int64_t>(made_.gpus.size()));
    if (divided == 0) {
      return fail(label(wanted.front().first), errc::malformed,
                  fmt::format("there are instances, but all {} GPUs are allocatable undivided", made_.gpus.size()));
    }
    const auto layouts = lay_out(table, profiles, static_cast<std::size_t>(divided));
    if (layouts.empty()) {
      counted_only_ = true;
      return warn(
          label(wanted.front().first),
          fmt::format("no layout of {} GPUs was found that has these instances: they are counted only", divided));
    }
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      gpu_spec& gpu = made_.gpus[made_.gpus.size() - layouts.size() + i];
      if (layouts[i].empty()) continue;
      gpu.mig = mig_mode::fixed;
      for (const mig_placement& one : layouts[i]) gpu.instances.push_back({table[one.profile].name, one.start});
    }
    return true;
  }

  using layout = std::vector<mig_placement>;

  /// All GPUs alike if that comes out even, as administrators do it; else the largest instances first, each where it fits.
  static std::vector<layout> lay_out(const mig_table& table,
                                     std::vector<std::pair<mig_profile_index, std::int64_t>>& profiles,
                                     std::size_t gpus) {
    const auto each = static_cast<std::int64_t>(gpus);
    if (std::ranges::all_of(profiles, [&](const auto& one) { return one.second % each == 0; })) {
      std::vector<mig_profile_index> one;
      for (const auto& [profile, count] : profiles)
        one.insert(one.end(), static_cast<std::size_t>(count / each), profile);
      if (one.size() <= 8)
        if (auto plan = table.plan({}, one)) return std::vector<layout>(gpus, *plan);
    }
    std::ranges::stable_sort(profiles, std::ranges::greater{},
                             [&](const auto& one) { return table[one.first].memory_slices; });
    std::vector<std::vector<mig_profile_index>> on(gpus);
    std::vector<layout> made(gpus);
    for (const auto& [profile, count] : profiles) {
      for (std::int64_t i = 0; i < count; ++i) {
        bool placed = false;
        for (std::size_t gpu = 0; gpu < gpus && !placed; ++gpu) {
          if (on[gpu].size() >= 8) continue;
          on[gpu].push_back(profile);
          auto plan = table.plan({}, on[gpu]);
          placed = plan.has_value();
          if (placed)
            made[gpu] = *std::move(plan);
          else
            on[gpu].pop_back();
        }
        if (!placed) return {};
      }
    }
    return made;
  }

  bool divide_dynamically(const std::string& word) {
    const spot at = annotation("gangsched.dev/mig");
    if (word != "dynamic") return fail(at, errc::unknown, fmt::format("\"{}\" is not dynamic", word));
    const auto product = find_mig_product(model_);
    if (!product) return fail(at, errc::unknown, fmt::format("\"{}\" has no MIG table that the library knows", model_));
    const mig_table table = mig_table::of(*product);
    for (gpu_spec& gpu : made_.gpus) gpu.mig = mig_mode::dynamic;
    // Filters that count resources must not refuse what could be made: the devices decide.
    for (const mig_profile& one : table.profiles()) {
      const auto most = static_cast<std::int64_t>(made_.gpus.size()) * std::max<std::int64_t>(one.max_instances, 1);
      node_->allocatable.emplace(mig_resource_name(one.name), quantity{most});
    }
    return true;
  }

  // --- others

  bool amd() {
    const std::int64_t count = amounts("amd.com/gpu");
    if (count > most_gpus) return true;
    made_.gpu.model = *find(node_->labels, "amd.com/gpu.product-name");
    made_.gpu.resource = "amd.com/gpu";
    if (const std::string* vram = find(node_->labels, "amd.com/gpu.vram")) {
      // The labeller divides by 1024 and writes one letter.
      const auto amount = quantity::parse(*vram + (vram->ends_with('G') || vram->ends_with('M') ? "i" : ""));
      std::int64_t bytes = 0;
      if (!amount || !amount->value(bytes) || bytes < 0)
        return fail(label("amd.com/gpu.vram"), errc::malformed, fmt::format("\"{}\" is no amount like 192G", *vram));
      made_.gpu.memory_mib = bytes >> 20;
    }
    name_gpus(static_cast<std::size_t>(count));
    node_->devices = std::move(made_);
    return true;
  }

  bool alibaba() {
    const std::int64_t count = amounts("alibabacloud.com/gpu-count");
    if (count > most_gpus) return true;
    if (const std::string* model = find(node_->labels, "alibabacloud.com/gpu-card-model")) made_.gpu.model = *model;
    made_.gpu.resource = "alibabacloud.com/gpu-count";
    name_gpus(static_cast<std::size_t>(count));
    node_->devices = std::move(made_);
    return true;
  }

  reader* read_;
  place of_;
  const label_map* annotations_;
  node_spec* node_;
  node_devices made_;
  std::string model_;
  bool counted_only_ = false;
};

}  // namespace

bool read_gpu_labels(reader& read, const place& of, const label_map& annotations, node_spec& out) {
  return label_reader{read, of, annotations, out}.run();
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
