#include "simulate/input.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>

namespace simulate {
namespace {

/// Files in the order given; of a folder its manifests by name.
std::vector<std::string> files_at(const std::vector<std::string>& paths, bool recursive) {
  namespace fs = std::filesystem;
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    std::error_code wrong;
    if (path == "-" || !fs::is_directory(path, wrong)) {
      all.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    const auto add = [&](const fs::directory_entry& one) {
      const std::string kind = one.path().extension().string();
      if (one.is_regular_file() && (kind == ".yaml" || kind == ".yml" || kind == ".json"))
        found.push_back(one.path().string());
    };
    try {
      if (recursive)
        for (const fs::directory_entry& one : fs::recursive_directory_iterator{path}) add(one);
      else
        for (const fs::directory_entry& one : fs::directory_iterator{path}) add(one);
    } catch (const fs::filesystem_error&) {
      throw bad_file{path + ": cannot be read"};
    }
    if (found.empty())
      throw bad_file{path + ": has no .yaml, .yml or .json" + (recursive ? "" : "; with -R folders in it count")};
    std::ranges::sort(found);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace

gangsched::kube::source read_file(const std::string& path) {
  auto read = path == "-" ? gangsched::kube::load(std::cin, "stdin", whole_clusters)
                          : gangsched::kube::load(path, whole_clusters);
  if (!read) throw bad_file{read.error().message()};
  return *std::move(read);
}

std::vector<gangsched::kube::source> read_files(const std::vector<std::string>& paths, bool recursive) {
  std::vector<gangsched::kube::source> all;
  for (const std::string& path : files_at(paths, recursive)) all.push_back(read_file(path));
  return all;
}

}  // namespace simulate
