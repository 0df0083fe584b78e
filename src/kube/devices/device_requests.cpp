#include "gangsched/src/kube/devices/device_requests.hpp"

#include <fmt/format.h>

#include <charconv>

#include "gangsched/model/requests.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

bool read_scope(reader& read, const place& of, device_scope& out) {
  return read.word(of, out,
                   {{"node", device_scope::node},
                    {"numa", device_scope::numa},
                    {"pcie", device_scope::pcie},
                    {"nvlink", device_scope::nvlink}});
}

bool read_attribute(reader& read, const place& of, device_attribute& out) {
  if (of.at->kind == value_kind::boolean) return out = of.at->text == "true", true;
  if (of.at->kind == value_kind::number) {
    std::int64_t number = 0;
    return read.integer(of, number) && (out = number, true);
  }
  std::string text;
  return read.text(of, text) && (out = std::move(text), true);
}

bool read_selector(reader& read, const place& of, attribute_selector& out) {
  using op = attribute_operator;
  out.op = op::equal;
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "attribute") return read.text(v, out.attribute);
    if (key == "operator") {
      return read.word(v, out.op,
                       {{"Equal", op::equal},
                        {"NotEqual", op::not_equal},
                        {"Less", op::less},
                        {"LessEqual", op::less_equal},
                        {"Greater", op::greater},
                        {"GreaterEqual", op::greater_equal},
                        {"In", op::in},
                        {"Exists", op::exists},
                        {"Absent", op::absent}});
    }
    if (key == "values")
      return read.list(v, out.values,
                       [&](const place& item, device_attribute& one) { return read_attribute(read, item, one); });
    return read.fail(errc::unknown, v, "there is no such field");
  });
}

/// "8.0", or 80.
bool read_capability(reader& read, const place& of, std::int32_t& out) {
  if (of.at->kind == value_kind::number && of.at->text.find('.') == std::string::npos)
    return read.integer(of, out, 0, 9999);
  const std::string& text = of.at->text;
  std::int32_t major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, major);
  const bool dotted = first.ec == std::errc{} && first.ptr != end && *first.ptr == '.';
  const auto second = dotted ? std::from_chars(first.ptr + 1, end, minor) : first;
  if (!dotted || second.ec != std::errc{} || second.ptr != end || major < 0 || major > 99 || minor < 0 || minor > 9)
    return read.fail(errc::malformed, of, fmt::format("\"{}\" is no compute capability like 8.0", text));
  out = 10 * major + minor;
  return true;
}

}  // namespace

bool read_device_request(reader& read, const place& of, const pod_spec& pod, device_request& out) {
  bool counted = false;
  constexpr std::int64_t most = std::int64_t{1} << 40;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, out.name);
    if (key == "deviceClass") return read.text(v, out.device_class);
    if (key == "count") return counted = true, read.integer(v, out.count, 1, 1024);
    if (key == "milli") return read.integer(v, out.milli, 0, 1000);
    if (key == "memoryMiB") return read.integer(v, out.memory_mib, 0, most);
    if (key == "memoryPercent") return read.integer(v, out.memory_percent, 0, 100);
    if (key == "migProfile") return read.text(v, out.mig_profile);
    if (key == "models") return read.texts(v, out.models);
    if (key == "leastMemoryMiB") return read.integer(v, out.least_memory_mib, 0, most);
    if (key == "leastComputeCapability") return read_capability(read, v, out.least_compute_capability);
    if (key == "within") return read_scope(read, v, out.within);
    if (key == "withinPreferred") return read.boolean(v, out.within_preferred);
    if (key == "units") return read.integer(v, out.units, 1, most);
    if (key == "all") return read.boolean(v, out.all);
    if (key == "admin") return read.boolean(v, out.admin);
    if (key == "besideGPUs") return read_scope(read, v, out.beside_gpus);
    if (key == "besidePreferred") return read.boolean(v, out.beside_preferred);
    if (key == "selectors") {
      return read.list(v, out.selectors,
                       [&](const place& item, attribute_selector& one) { return read_selector(read, item, one); });
    }
    if (key == "expressions") return read.texts(v, out.expressions);
    if (key == "capacities") {
      return read.fields(v, [&](std::string_view name, const place& item) {
        quantity amount;
        std::int64_t& whole = out.capacities[std::string{name}];
        if (!read.amount(item, amount)) return false;
        return (amount.value(whole) && whole >= 0) || read.fail(errc::out_of_range, item, "is negative, or too much");
      });
    }
    if (key == "firstOf") {
      return read.list(v, out.first_of, [&](const place& item, device_request& one) {
        return read_device_request(read, item, {}, one);
      });
    }
    return read.fail(errc::unknown, v, "there is no such field");
  });
  const bool whole = out.device_class == "gpu" && out.milli == 1000 && out.memory_mib == 0 && out.memory_percent == 0 &&
                     out.mig_profile.empty();
  if (!fine || counted || !whole) return fine;
  if (const std::int32_t sum = counted_gpus(pod); sum > 0) out.count = sum;
  return true;
}

std::int32_t counted_gpus(const pod_spec& pod) {
  pod_spec bare;  // without the devices that are being read
  bare.containers = pod.containers;
  bare.init_containers = pod.init_containers;
  const result<pod_requests> all = requests_of(bare);
  if (!all) return 0;
  std::int64_t sum = 0;
  for (const char* name : {"nvidia.com/gpu", "nvidia.com/gpu.shared", "amd.com/gpu"}) {
    const auto found = all->requests.find(name);
    if (found != all->requests.end() && found->second <= 1024) sum += found->second;
  }
  return sum <= 1024 ? static_cast<std::int32_t>(sum) : 0;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
