#pragma once
#include <gangsched/core/result.hpp>
#include <gangsched/kube/document.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace simulate {

/// What cannot be read or written.
struct bad_file : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Files are the user's own: a large cluster is no attack.
inline constexpr gangsched::kube::limits whole_clusters{.bytes = std::size_t{4} << 30, .values = 200'000'000};

/// "-": standard input. Throws bad_file.
[[nodiscard]] gangsched::kube::source read_file(const std::string& path);
/// Files in the order given; of a folder its manifests by name. Throws bad_file.
[[nodiscard]] std::vector<gangsched::kube::source> read_files(const std::vector<std::string>& paths, bool recursive);

}  // namespace simulate
