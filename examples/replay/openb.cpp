#include "replay/openb.hpp"

#include <fmt/format.h>
#include <gangsched/model/validate.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include "replay/csv.hpp"

namespace replay::openb {
namespace {

using gangsched::quantity;

constexpr const char* gpu = "nvidia.com/gpu";
constexpr const char* gpu_share = "alibabacloud.com/gpu-milli";
constexpr const char* model_label = "gpu-model";
constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

gangsched::node_spec to_node(const node& from) {
  gangsched::node_spec spec{.name = from.name};
  spec.allocatable = {{"cpu", quantity::from_milli(from.cpu_milli)},
                      {"memory", quantity{from.memory_mib * mebibyte}},
                      {"pods", quantity{1001}}};  // as in the trace's own experiments
  if (from.gpus > 0) {
    spec.allocatable.emplace(gpu, quantity{from.gpus});
    spec.allocatable.emplace(gpu_share, quantity{from.gpus * 1000});
  }
  if (!from.model.empty()) spec.labels.emplace(model_label, from.model);
  return spec;
}

gangsched::pod_spec to_pod(const pod& from) {
  gangsched::resource_list requests{{"cpu", quantity::from_milli(from.cpu_milli)},
                                    {"memory", quantity{from.memory_mib * mebibyte}}};
  if (from.gpus > 0) {
    requests.emplace(gpu_share, quantity{from.gpus * from.gpu_milli});
    if (from.gpu_milli == 1000) requests.emplace(gpu, quantity{from.gpus});
  }
  gangsched::pod_spec spec;
  spec.containers.push_back({.requests = std::move(requests)});
  if (!from.models.empty()) {
    spec.affinity.required = {{.match_expressions = {{.key = model_label, .values = from.models}}}};
  }
  return spec;
}

/// "A|B" as sorted names, each once.
std::vector<std::string> models_of(const std::string& spec) {
  std::vector<std::string> models;
  std::size_t begin = 0;
  while (begin < spec.size()) {
    const std::size_t end = std::min(spec.find('|', begin), spec.size());
    if (end > begin) models.push_back(spec.substr(begin, end - begin));
    begin = end + 1;
  }
  std::ranges::sort(models);
  models.erase(std::ranges::unique(models).begin(), models.end());
  return models;
}

std::vector<node> read_nodes(const std::string& path, std::int64_t most_gpus) {
  csv_file file{path};
  const auto name = file.find("sn");
  const auto cpu = file.find("cpu_milli");
  const auto memory = file.find("memory_mib");
  const auto gpus = file.find("gpu");
  const auto model = file.find("model");
  std::vector<node> nodes;
  while (file.next()) {
    nodes.push_back({.name = file.unique(name),
                     .cpu_milli = file.number(cpu, 0, most_amount),
                     .memory_mib = file.number(memory, 0, most_amount),
                     .gpus = file.number(gpus, 0, most_gpus),
                     .model = file.text(model)});
    if (const auto failure = gangsched::check(to_node(nodes.back()))) {
      file.fail(failure->field.starts_with("labels") ? model : name, failure->reason);
    }
  }
  return nodes;
}

std::vector<pod> read_pods(const std::string& path, std::int64_t most_gpus) {
  csv_file file{path};
  const auto name = file.find("name");
  const auto cpu = file.find("cpu_milli");
  const auto memory = file.find("memory_mib");
  const auto gpus = file.find("num_gpu");
  const auto milli = file.find("gpu_milli");
  const auto models = file.find_if_there("gpu_spec");
  const auto creation = file.find_if_there("creation_time");
  const auto deletion = file.find_if_there("deletion_time");
  std::vector<pod> pods;
  while (file.next()) {
    pod& p = pods.emplace_back();
    p.name = file.unique(name);
    p.cpu_milli = file.number(cpu, 0, most_amount);
    p.memory_mib = file.number(memory, 0, most_amount);
    p.gpus = file.number(gpus, 0, most_gpus);
    p.gpu_milli = file.number(milli, 0, 1000);
    if ((p.gpus == 0) != (p.gpu_milli == 0)) {
      file.fail(milli, fmt::format("{} with num_gpu {}", p.gpu_milli, p.gpus));
    }
    if (p.gpus > 1 && p.gpu_milli < 1000) file.fail(milli, "a pod with several GPUs must take them whole (1000)");
    if (models) p.models = models_of(file.text(*models));
    p.creation = creation ? file.number(*creation, 0, most_seconds) : static_cast<std::int64_t>(pods.size()) - 1;
    if (deletion && !file.text(*deletion).empty()) {
      p.deletion = file.number(*deletion, 0, most_seconds);
      if (*p.deletion < p.creation) {
        file.fail(*deletion, fmt::format("{} is before creation_time {}", *p.deletion, p.creation));
      }
    }
    gangsched::pod_spec spec = to_pod(p);
    spec.name = p.name;
    if (const auto failure = gangsched::check(spec)) file.fail(name, failure->reason);
  }
  return pods;
}

enum size : std::uint32_t { no_gpu, part, one, two, four, eight, other };

std::uint32_t size_of(const pod& p) {
  switch (p.gpus) {
    case 0: return no_gpu;
    case 1: return p.gpu_milli < 1000 ? part : one;
    case 2: return two;
    case 4: return four;
    case 8: return eight;
    default: return other;
  }
}

}  // namespace

trace read(const std::string& nodes_path, const std::string& pods_path, std::int64_t most_gpus) {
  return {.source = std::filesystem::path{pods_path}.filename().string(),
          .nodes = read_nodes(nodes_path, most_gpus),
          .pods = read_pods(pods_path, most_gpus)};
}

workload to_workload(const trace& from, const options& how) {
  workload to;
  to.source = from.source;
  to.gpu_resource = gpu_share;
  to.sizes = {"no GPU", "part of a GPU", "1 GPU", "2 GPUs", "4 GPUs", "8 GPUs", "other"};
  to.lifetimes = lifetime_rule::from_arrival;
  for (const node& n : from.nodes) {
    to.nodes.push_back(to_node(n));
    to.gpu_milli += n.gpus * 1000;
  }

  using key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::vector<std::string>>;
  std::map<key, std::uint32_t> shape_of;
  for (const pod& p : from.pods) {
    const auto [entry, is_new] = shape_of.try_emplace({p.cpu_milli, p.memory_mib, p.gpus, p.gpu_milli, p.models},
                                                      static_cast<std::uint32_t>(to.shapes.size()));
    if (is_new) to.shapes.push_back({.pod = to_pod(p), .gpu_milli = p.gpus * p.gpu_milli, .size = size_of(p)});
    job& j = to.jobs.emplace_back();
    j.name = p.name;
    j.shape = entry->second;
    j.arrival = arrival_at(p.creation, how.speed);
    if (p.deletion && !how.stay) j.lifetime = std::chrono::seconds{*p.deletion - p.creation};
  }
  std::ranges::stable_sort(to.jobs, {}, &job::arrival);
  return to;
}

}  // namespace replay::openb
