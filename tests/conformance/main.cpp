#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/cases.hpp"

// gangsched-conformance [--first N] [--newer LIST] [--on-cluster] [--except LIST] PATH…: files of recorded decisions, or folders with
// .jsonl files; N differences of each file are shown (10). With a list of newer ones: groups as in 1.37, where exactly the cases listed
// come out differently. On a cluster: a policy of queues that decides there, too, is compared once more as it does. With exceptions: cases
// that are known to differ; one that does not is a difference. Exit 0: no difference; 1: some, or nothing to compare; 2: something could
// not be read.

int main(int argc, char** argv) {
  using namespace gangsched::conformance;
  try {
    std::vector<std::string> files;
    std::size_t keep = 10;
    std::optional<std::map<std::string, std::string>> newer;
    std::map<std::string, std::string> exceptions;
    bool on_cluster = false;
    for (int i = 1; i < argc; ++i) {
      if (std::string_view{argv[i]} == "--first" && i + 1 < argc) {
        keep = std::strtoul(argv[++i], nullptr, 10);
        continue;
      }
      if (std::string_view{argv[i]} == "--newer" && i + 1 < argc) {
        newer = read_reasons(argv[++i]);
        continue;
      }
      if (std::string_view{argv[i]} == "--on-cluster") {
        on_cluster = true;
        continue;
      }
      if (std::string_view{argv[i]} == "--except" && i + 1 < argc) {
        exceptions = read_reasons(argv[++i]);
        continue;
      }
      if (!std::filesystem::is_directory(argv[i])) {
        files.emplace_back(argv[i]);
        continue;
      }
      std::vector<std::string> inside;
      for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
        if (entry.path().extension() == ".jsonl") inside.push_back(entry.path().string());
      std::sort(inside.begin(), inside.end());
      if (inside.empty()) throw unreadable(std::string{argv[i]} + ": has no .jsonl files");
      files.insert(files.end(), inside.begin(), inside.end());
    }
    if (files.empty()) throw unreadable("usage: gangsched-conformance PATH...");
    tally all;
    for (const std::string& file : files) {
      tally one{.keep = keep, .newer = newer, .exceptions = exceptions, .on_cluster = on_cluster};
      run_file(file, one);
      std::printf("%s: %zu cases, %zu steps, %zu differences\n", file.c_str(), one.cases, one.steps, one.differences);
      for (const auto& [what, level] : one.levels)
        std::printf(
            "  %s: %zu compared, %zu differences%s\n", what.c_str(), level.compared, level.differences,
            level.exceptions == 0 ? "" : (", " + std::to_string(level.exceptions) + " listed exceptions").c_str());
      for (const difference& d : one.first) std::printf("%s\n", d.message().c_str());
      if (one.differences > one.first.size()) std::printf("  and %zu more\n", one.differences - one.first.size());
      all.cases += one.cases;
      all.steps += one.steps;
      all.differences += one.differences;
    }
    std::printf("conformance: %zu cases, %zu steps, %zu differences\n", all.cases, all.steps, all.differences);
    return all.differences == 0 && all.cases > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "%s\n", wrong.what());
    return 2;
  }
}
