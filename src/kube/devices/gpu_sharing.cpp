#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gangsched/devices/device_demand.hpp"
#include "gangsched/src/kube/devices/device_requests.hpp"

// Parts of GPUs, in the words of systems that hand them out: HAMi, Volcano, KAI, Alibaba, Koordinator. Resources that a request for devices
// stands for are taken out of the containers: the inventory counts them, and no node is to be refused because it lacks the number.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

class sharing_reader {
 public:
  sharing_reader(reader& read, const place& of, pod_manifest& pod)
      : read_(&read), of_(of), annotations_(&pod.annotations), pod_(&pod.spec), taken_(&pod.device_resources) {}

  bool run() {
    if (!each(pod_->containers, "containers") || !each(pod_->init_containers, "initContainers")) return false;
    if (!koordinator() || !kai() || !alibaba()) return false;
    return hints();
  }

 private:
  using amount = std::optional<std::int64_t>;

  bool fail(const spot& at, std::string reason, errc code = errc::malformed) {
    return read_->fail(code, at.line, at.path, std::move(reason));
  }
  [[nodiscard]] spot annotation(std::string_view key) const { return find_spot(of_, {"metadata", "annotations", key}); }
  [[nodiscard]] const std::string* annotated(const std::string& key) const {
    const auto found = annotations_->find(key);
    return found == annotations_->end() ? nullptr : &found->second;
  }

  // --- containers

  bool each(std::vector<container>& all, const char* list) {
    const bool init = all.data() == pod_->init_containers.data() && list[0] == 'i';
    for (std::size_t i = 0; i < all.size(); ++i) {
      at_ = &all[i];
      at_index_ = i;
      list_ = list;
      index_ = fmt::format("[{}]", i);
      const std::size_t before = pod_->devices.size();
      if (!hami() || !volcano() || !alibaba_resources() || !koordinator_resources(init)) return false;
      if (!init || all[i].sidecar || pod_->devices.size() == before) continue;
      pod_->devices.resize(before);
      const spot at = find_spot(of_, {"spec", list_, index_});
      read_->warn(at.line, at.path, "shares of devices of init containers are not modelled; they are left out");
    }
    return true;
  }
  [[nodiscard]] spot resource(std::string_view name) const {
    const value* spec = of_.at->find("spec");
    const value* all = spec == nullptr ? nullptr : spec->find(list_);
    std::size_t i = static_cast<std::size_t>(at_ - (list_[0] == 'i' ? pod_->init_containers : pod_->containers).data());
    const value* own = all != nullptr && i < all->items.size() ? all->items[i].find("resources") : nullptr;
    const value* requests = own == nullptr ? nullptr : own->find("requests");
    const bool requested = requests != nullptr && requests->find(name) != nullptr;
    return find_spot(of_, {"spec", list_, index_, "resources", requested ? "requests" : "limits", name});
  }
  /// Takes a resource away; absent if the container has none of it. False if it is no whole number up to @p most.
  bool take(const char* name, amount& out, std::int64_t most) {
    out.reset();
    const auto found = at_->requests.find(name);
    if (found == at_->requests.end()) return true;
    std::int64_t number = 0;
    if (!found->second.value(number) || number < 0 || number > most)
      return fail(resource(name), fmt::format("is not in 0 to {}", most), errc::out_of_range);
    const std::size_t apps = pod_->containers.size();
    taken_->resize(apps + pod_->init_containers.size());
    (*taken_)[at_index_ + (list_[0] == 'i' ? apps : 0)].insert_or_assign(name, found->second);
    at_->requests.erase(found);
    if (number != 0) out = number;
    return true;
  }
  device_request& add() { return pod_->devices.emplace_back(); }

  static constexpr std::int64_t most_gpus = 1024, most_mib = std::int64_t{1} << 40;

  /// Shares as HAMi counts them, and Volcano after it. What is not said of memory is all of it; 100 cores are a GPU of one's own.
  bool virtual_gpus(std::int64_t count, amount memory, amount percent, amount cores) {
    device_request& made = add();
    made.count = static_cast<std::int32_t>(count);
    if (cores.value_or(0) == 100 || (!memory && !percent && !cores)) return true;
    made.milli = static_cast<std::int32_t>(10 * cores.value_or(0));
    if (memory)
      made.memory_mib = *memory;
    else
      made.memory_percent = static_cast<std::int32_t>(percent.value_or(100));
    return true;
  }

  bool hami() {
    const auto asks = [&](const char* name) { return at_->requests.contains(name); };
    if (!asks("nvidia.com/gpumem") && !asks("nvidia.com/gpumem-percentage") && !asks("nvidia.com/gpucores"))
      return true;
    amount count, memory, percent, cores, priority;
    if (!take("nvidia.com/gpu", count, most_gpus) || !take("nvidia.com/gpumem", memory, most_mib) ||
        !take("nvidia.com/gpumem-percentage", percent, 100) || !take("nvidia.com/gpucores", cores, 100) ||
        !take("nvidia.com/priority", priority, most_gpus))
      return false;
    return virtual_gpus(count.value_or(1), memory, memory ? amount{} : percent, cores);
  }

  bool volcano() {
    amount count, memory, percent, cores, old_memory, old_count;
    if (!take("volcano.sh/vgpu-number", count, most_gpus) || !take("volcano.sh/vgpu-memory", memory, most_mib) ||
        !take("volcano.sh/vgpu-memory-percentage", percent, 100) || !take("volcano.sh/vgpu-cores", cores, 100) ||
        !take("volcano.sh/gpu-memory", old_memory, most_mib) || !take("volcano.sh/gpu-number", old_count, most_gpus))
      return false;
    if (count && !virtual_gpus(*count, memory, memory ? amount{} : percent, cores)) return false;
    if (!count && (memory || percent || cores))
      return fail(resource("volcano.sh/vgpu-number"), "is missing beside volcano.sh/vgpu-…");
    if (old_memory) {
      device_request& made = add();
      made.milli = 0;
      made.memory_mib = *old_memory;
    }
    if (old_count) add().count = static_cast<std::int32_t>(*old_count);
    return true;
  }

  bool alibaba_resources() {
    amount milli, count, gib;
    if (!take("alibabacloud.com/gpu-milli", milli, 1000) || !take("alibabacloud.com/gpu-count", count, most_gpus) ||
        !take("aliyun.com/gpu-mem", gib, most_mib >> 10))
      return false;
    if (milli || count) thousandths(milli.value_or(1000), count.value_or(1));
    if (gib) {
      device_request& made = add();
      made.milli = 0;
      made.memory_mib = *gib << 10;
    }
    return true;
  }
  /// Of one GPU some thousandths, of several all (openb's `gpu-milli`).
  device_request& thousandths(std::int64_t milli, std::int64_t count) {
    device_request& made = add();
    made.count = static_cast<std::int32_t>(count);
    if (count == 1) made.milli = static_cast<std::int32_t>(milli);
    return made;
  }

  // --- Koordinator (its plugin DeviceShare): what a pod requests is the sum of its containers, or an init container's if that is more

  enum koordinator_resource : std::size_t { of_gpu, of_core, of_ratio, of_memory, of_cards, of_rdma, of_fpga };
  static constexpr std::int64_t most_percent = 100 * most_gpus;
  struct koordinator_name {
    const char* text;
    std::int64_t most;
  };
  static constexpr koordinator_name koordinator_names[] = {
      {"koordinator.sh/gpu", most_percent},
      {"koordinator.sh/gpu-core", most_percent},
      {"koordinator.sh/gpu-memory-ratio", most_percent},
      {"koordinator.sh/gpu-memory", std::int64_t{1} << 60},
      {"koordinator.sh/gpu.shared", most_gpus},
      {"koordinator.sh/rdma", most_percent},
      {"koordinator.sh/fpga", most_percent},
  };
  struct koordinator_total {
    std::int64_t apps = 0;      ///< of containers that run together, sidecars too
    std::int64_t sidecars = 0;  ///< of those that have been seen
    std::int64_t init = 0;      ///< the most of an init container and the sidecars before it
    spot at = {};
    [[nodiscard]] std::int64_t most() const noexcept { return std::max(apps, init); }
  };

  bool koordinator_resources(bool init) {
    for (std::size_t i = 0; i < std::size(koordinator_names); ++i) {
      koordinator_total& total = koordinator_[i];
      amount one;
      if (!take(koordinator_names[i].text, one, koordinator_names[i].most)) return false;
      if (one) total.at = resource(koordinator_names[i].text);
      const std::int64_t added = one.value_or(0);
      if (!init || at_->sidecar) total.apps += added;
      if (init) total.init = std::max(total.init, total.sidecars + added);
      if (init && at_->sidecar) total.sidecars += added;
      if (total.most() > koordinator_names[i].most)
        return fail(total.at, fmt::format("the pod's is not in 0 to {}", koordinator_names[i].most),
                    errc::out_of_range);
    }
    return true;
  }
  [[nodiscard]] bool asks_for_gpus() const {
    return std::ranges::any_of(pod_->devices, [](const device_request& one) { return one.device_class == "gpu"; });
  }
  [[nodiscard]] std::int64_t asked(koordinator_resource of) const { return koordinator_[of].most(); }

  bool koordinator() {
    const bool gpus = std::any_of(koordinator_.begin(), koordinator_.begin() + of_rdma,
                                  [](const koordinator_total& one) { return one.most() != 0; });
    return (!gpus || koordinator_gpus()) && hundredths("rdma", of_rdma) && hundredths("fpga", of_fpga);
  }

  /// Combinations that the plugin knows: gpu, or one of the two for memory, which others may be beside.
  [[nodiscard]] bool koordinator_knows() const {
    const bool counted = counted_gpus(*pod_) > 0;
    const bool parts = asked(of_core) != 0 || asked(of_ratio) != 0 || asked(of_memory) != 0 || asked(of_cards) != 0;
    if (counted || asked(of_gpu) != 0) return !counted && !parts;
    return (asked(of_ratio) != 0) != (asked(of_memory) != 0);
  }

  bool koordinator_gpus() {
    if (!koordinator_knows()) {
      const auto named =
          std::ranges::find_if(koordinator_, [](const koordinator_total& one) { return one.most() != 0; });
      return fail(
          named->at,
          "is not one of the combinations for GPUs: gpu alone, or gpu-memory-ratio or gpu-memory with or without "
          "gpu-core and gpu.shared");
    }
    std::int64_t core = asked(of_gpu) != 0 ? asked(of_gpu) : asked(of_core);
    std::int64_t ratio = asked(of_gpu) != 0 ? asked(of_gpu) : asked(of_ratio);
    std::int64_t count = std::max<std::int64_t>(asked(of_cards), 1);
    const spot core_at = koordinator_[asked(of_gpu) != 0 ? of_gpu : of_core].at;
    const spot ratio_at = koordinator_[asked(of_gpu) != 0 ? of_gpu : of_ratio].at;
    for (const auto& [one, at] : {std::pair{core, core_at}, {ratio, ratio_at}}) {
      if (asked(of_cards) != 0 && one % count != 0)
        return fail(at, fmt::format("{} cannot be divided among {} GPUs", one, count));
      if (asked(of_cards) == 0 && one > 100 && one % 100 != 0)
        return fail(at, fmt::format("{} is above 100 and no multiple of it", one));
    }
    if (asked(of_cards) == 0 && ratio > 100) count = ratio / 100;  // only memory says how many; the rest is divided
    const std::int64_t memory = asked(of_memory) == 0 ? 0 : std::max<std::int64_t>(asked(of_memory) / count, 1);
    core /= count, ratio /= count;
    for (const auto& [one, at] : {std::pair{core, core_at}, {ratio, ratio_at}})
      if (one > 100) return fail(at, fmt::format("is more than 100 of each of {} GPUs", count));
    constexpr const char* isolation = "koordinator.sh/gpu-isolation-provider";
    const auto provider = pod_->labels.find(isolation);
    if (ratio < 100 && provider != pod_->labels.end() && !provider->second.empty())
      pod_->node_selector.emplace(isolation, provider->second);  // what keeps shares apart has to run there
    device_request& made = add();
    made.count = static_cast<std::int32_t>(count);
    if (core == 100 && ratio == 100) return true;
    made.milli = static_cast<std::int32_t>(10 * core);
    made.memory_mib = (memory + (1 << 20) - 1) >> 20;
    made.memory_percent = static_cast<std::int32_t>(ratio);
    return true;
  }

  /// A device has 100; more are several devices.
  bool hundredths(const char* kind, koordinator_resource of) {
    const std::int64_t percent = asked(of);
    if (percent == 0) return true;
    if (percent > 100 && percent % 100 != 0)
      return fail(koordinator_[of].at, fmt::format("{} is above 100 and no multiple of it", percent));
    device_request& made = add();
    made.device_class = kind;
    made.count = percent > 100 ? static_cast<std::int32_t>(percent / 100) : 1;
    made.units = std::min<std::int64_t>(percent, 100);
    return true;
  }

  /// What narrows the choice, and is not read.
  void warn_of(std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      const spot at = annotation(key);
      if (annotated(key) != nullptr) read_->warn(at.line, at.path, "is not modelled; it is left out");
    }
  }

  bool hints() {
    warn_of({"nvidia.com/use-gpuuuid", "nvidia.com/nouse-gpuuuid", "hami.io/gpu-scheduler-policy",
             "hami.io/node-scheduler-policy", "scheduling.koordinator.sh/gpu-partition-spec",
             "scheduling.koordinator.sh/numa-topology-spec", "volcano.sh/vgpu-use-gpuuuid",
             "volcano.sh/vgpu-nouse-gpuuuid", "volcano.sh/numa-topology-policy"});
    return allocate_hint() && joint_allocate();
  }

  /// {"rdma": {"allocateStrategy": "ApplyForAll"}}
  bool allocate_hint() {
    const std::string* text = annotated("scheduling.koordinator.sh/device-allocate-hint");
    if (text == nullptr) return true;
    return read_inside(*read_, annotation("scheduling.koordinator.sh/device-allocate-hint"), *text,
                       [&](reader& in, const place& of) {
                         return in.fields(of, [&](std::string_view kind, const place& v) { return hint(in, kind, v); });
                       });
  }
  bool hint(reader& in, std::string_view kind, const place& of) {
    const bool gpus = kind == "gpu";
    std::string strategy, exclusive;
    place exclusive_at = of;
    const bool fine = in.fields(of, [&](std::string_view key, const place& v) {
      if (key == "requiredTopologyScope") {
        device_scope scope = device_scope::node;
        std::string word;
        if (!in.text(v, word)) return false;
        if (word != "Device" &&
            !in.word(v, scope,
                     {{"PCIe", device_scope::pcie}, {"NUMANode", device_scope::numa}, {"Node", device_scope::node}}))
          return false;
        if (!gpus) return true;
        if (!asks_for_gpus() && counted_gpus(*pod_) > 0) add().count = counted_gpus(*pod_);
        for (device_request& one : pod_->devices)
          if (one.device_class == kind) one.within = scope;
        return true;
      }
      if (key == "exclusivePolicy") return exclusive_at = v, in.text(v, exclusive);
      if (key != "allocateStrategy") return in.warn(v, "is not modelled; it is left out");
      if (!in.text(v, strategy)) return false;
      return strategy == "ApplyForAll" || strategy == "RequestsAsCount" ||
             in.fail(errc::unknown, v, fmt::format("\"{}\" is not ApplyForAll or RequestsAsCount", strategy));
    });
    if (!fine) return false;
    const bool whole = exclusive == "DeviceLevel" && strategy == "RequestsAsCount";
    if (!exclusive.empty() && !whole && !in.warn(exclusive_at, "is not modelled; it is left out")) return false;
    for (device_request& one : pod_->devices) {
      if (gpus || strategy.empty() || one.device_class != kind || one.count > 1)
        continue;  // above 100 they are counted
      if (strategy == "ApplyForAll")
        one.all = true;
      else
        one.count = static_cast<std::int32_t>(one.units), one.units = whole ? 100 : 1;
    }
    return true;
  }

  /// {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}; what a pod requests alone, and all of a kind, stay as they are.
  bool joint_allocate() {
    const std::string* text = annotated("scheduling.koordinator.sh/device-joint-allocate");
    if (text == nullptr) return true;
    std::vector<std::string> kinds;
    std::string scope;
    const bool fine = read_inside(
        *read_, annotation("scheduling.koordinator.sh/device-joint-allocate"), *text, [&](reader& in, const place& of) {
          return in.fields(of, [&](std::string_view key, const place& v) {
            if (key == "deviceTypes") return in.texts(v, kinds);
            if (key == "requiredScope") {
              return in.text(v, scope) && (scope.empty() || scope == "SamePCIe" ||
                                           in.fail(errc::unknown, v, fmt::format("\"{}\" is not SamePCIe", scope)));
            }
            return in.ignore(key, v, {});
          });
        });
    if (!fine) return false;
    const auto named = [&](std::string_view kind) { return std::ranges::find(kinds, kind) != kinds.end(); };
    const bool gpus = asks_for_gpus() || counted_gpus(*pod_) > 0;
    if (!gpus || !named("gpu")) return true;
    for (device_request& one : pod_->devices) {
      if (one.device_class == "gpu" || one.all || !named(one.device_class)) continue;
      one.beside_gpus = device_scope::pcie;
      one.beside_preferred = scope.empty();
    }
    return true;
  }

  // --- annotations

  /// A number that an annotation has, if it is there.
  bool number(const char* key, amount& out, std::int64_t least, std::int64_t most) {
    const std::string* text = annotated(key);
    if (text == nullptr) return true;
    const auto parsed = quantity::parse(*text);
    std::int64_t number = 0;
    const bool fits =
        parsed && parsed->nanos() % 1'000'000'000 == 0 && parsed->value(number) && number >= least && number <= most;
    if (!fits) return fail(annotation(key), fmt::format("\"{}\" is no whole number in {} to {}", *text, least, most));
    out = number;
    return true;
  }

  bool kai() {
    const std::string* fraction = annotated("gpu-fraction");
    amount memory, count;
    if (!number("gpu-memory", memory, 1, most_mib) || !number("gpu-fraction-num-devices", count, 1, most_gpus))
      return false;
    if (fraction == nullptr && !memory) return true;
    if (fraction != nullptr && memory) return fail(annotation("gpu-memory"), "is there beside gpu-fraction");
    for (const container& one : pod_->containers) {
      if (one.requests.contains("nvidia.com/gpu"))
        return fail(annotation(fraction != nullptr ? "gpu-fraction" : "gpu-memory"), "is there beside nvidia.com/gpu");
    }
    device_request& made = add();
    made.count = static_cast<std::int32_t>(count.value_or(1));
    if (memory) {
      made.milli = 0;
      made.memory_mib = *memory;
      return true;
    }
    const auto parsed = quantity::parse(*fraction);
    std::int64_t milli = 0;
    if (!parsed || !parsed->milli_value(milli) || milli < 10 || milli > 1000)
      return fail(annotation("gpu-fraction"), fmt::format("\"{}\" is no fraction in 0.01 to 1", *fraction));
    const std::int64_t percent = (milli + 5) / 10;  // it counts in hundredths, and means memory
    if (percent == 100) return true;
    made.milli = static_cast<std::int32_t>(10 * percent);
    made.memory_percent = static_cast<std::int32_t>(percent);
    return true;
  }

  bool alibaba() {
    amount milli, count;
    if (!number("alibabacloud.com/gpu-milli", milli, 0, 1000) ||
        !number("alibabacloud.com/gpu-count", count, 0, most_gpus))
      return false;
    const std::string* models = annotated("alibabacloud.com/gpu-card-model");
    if (!milli && !count) return true;
    if (milli.value_or(1) == 0 || count.value_or(1) == 0) return true;
    device_request& made = thousandths(milli.value_or(1000), count.value_or(1));
    for (std::size_t from = 0; models != nullptr && from <= models->size();) {
      const std::size_t end = std::min(models->find('|', from), models->size());
      if (end > from) made.models.push_back(models->substr(from, end - from));
      from = end + 1;
    }
    return true;
  }

  reader* read_;
  place of_;
  const label_map* annotations_;
  pod_spec* pod_;
  std::vector<resource_list>* taken_;
  container* at_ = nullptr;
  std::size_t at_index_ = 0;
  const char* list_ = "";
  std::string index_;
  std::array<koordinator_total, std::size(koordinator_names)> koordinator_ = {};
};

}  // namespace

namespace {

/// Our own annotation.
bool read_own_requests(reader& read, const spot& at, const std::string& text, pod_spec& out) {
  std::vector<device_request> more;
  const bool fine = read_inside(read, at, text, [&](reader& in, const place& root) {
    if (root.at->kind == value_kind::object) return read_device_request(in, root, out, more.emplace_back());
    return in.list(root, more,
                   [&](const place& item, device_request& one) { return read_device_request(in, item, out, one); });
  });
  if (!fine) return false;
  if (const auto wrong = check(more, {})) {
    const bool indexed = wrong->field.starts_with("devices[");  // "devices[0].milli"
    return read.fail(wrong->code, at.line, at.path + (indexed ? wrong->field.substr(7) : ""), wrong->reason);
  }
  out.devices.insert(out.devices.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return true;
}

/// ["GPU-0", {id: GPU-1, migStart: 6, request: 0}]
bool read_held(reader& read, const place& of, std::vector<held_device>& out) {
  return read.list(of, out, [&](const place& item, held_device& one) {
    if (item.at->kind == value_kind::text) return read.text(item, one.id);
    return read.fields(item, [&](std::string_view key, const place& v) {
      if (key == "id") return read.text(v, one.id);
      if (key == "migStart") return read.integer(v, one.mig_start, 0, 7);
      if (key == "request") return read.integer(v, one.request, 0, 254);
      return read.fail(errc::unknown, v, "there is no such field");
    });
  });
}

}  // namespace

void forget_device_requests(pod_manifest& pod) {
  pod_spec& spec = pod.spec;
  for (std::size_t i = 0; i < pod.device_resources.size(); ++i) {
    const std::size_t apps = spec.containers.size();
    container& from = i < apps ? spec.containers[i] : spec.init_containers[i - apps];
    from.requests.insert(pod.device_resources[i].begin(), pod.device_resources[i].end());
  }
  pod.device_resources.clear();
  pod.held_devices.clear();
  spec.devices.clear();
}

bool read_device_requests(reader& read, const place& of, pod_manifest& out) {
  const label_map& annotations = out.annotations;
  if (!sharing_reader{read, of, out}.run()) return false;
  const auto at = [&](const char* key) { return find_spot(of, {"metadata", "annotations", key}); };
  if (const auto own = annotations.find("gangsched.dev/devices"); own != annotations.end()) {
    if (!read_own_requests(read, at("gangsched.dev/devices"), own->second, out.spec)) return false;
  }
  const auto held = annotations.find("gangsched.dev/held-devices");
  if (held == annotations.end()) return true;
  return read_inside(read, at("gangsched.dev/held-devices"), held->second,
                     [&](reader& in, const place& root) { return read_held(in, root, out.held_devices); });
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
