#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "support/catch.hpp"
#include "support/source_dir.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gangsched::testing::replay_test {

namespace {

// Sanitizers reserve address space for all memory that there is.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool limits_memory = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr bool limits_memory = false;
#else
constexpr bool limits_memory = true;
#endif
#else
constexpr bool limits_memory = true;
#endif

/// As scripts/fuzz has it: what a text may cost beside what the program takes itself.
constexpr rlim_t most_seconds = 5, most_bytes = rlim_t{512} << 20;

/// The status of a process of its own, with limits, in which the text is read.
int status_of(const std::string& text) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit seconds{most_seconds, most_seconds}, bytes{most_bytes, most_bytes}, no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::setrlimit(RLIMIT_CPU, &seconds);
    if (limits_memory) ::setrlimit(RLIMIT_AS, &bytes);
    int code = 3;
    try {
      code = LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    } catch (const std::exception&) {  // out of memory
    }
    ::_exit(code);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("every file of the fuzzing corpus is read or refused within limits of time and memory", "[fuzz]") {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/tests/fuzz/corpus"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  REQUIRE(files.size() > 20);
  for (const auto& file : files) {
    INFO(file.string());
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    CHECK(status_of(text) == 0);
  }
}

}  // namespace gangsched::testing::replay_test
