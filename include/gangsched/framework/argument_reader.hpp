#pragma once
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Turns an `argument` into a plugin's options, strictly: an unknown field or a value of the wrong type is an error that names the plugin
/// and the path ("args.scoringStrategy.resources[1].weight"). Every call returns whether it succeeded; the first error is kept.
class GANGSCHED_API argument_reader {
 public:
  using field_visit = std::function<bool(std::string_view name, const argument& value, const std::string& path)>;
  using item_visit = std::function<bool(const argument& value, const std::string& path)>;

  explicit argument_reader(std::string_view plugin) : object_("plugin " + std::string{plugin}) {}

  /// Visits the fields of the whole argument; none if it is absent. `apiVersion` and `kind` are ignored.
  bool root(const argument& args, const field_visit& visit);
  /// Visits the fields of an object, or the items of a list, until one visit returns false. Errors: malformed, duplicate.
  bool fields(const argument& value, const std::string& path, const field_visit& visit);
  bool items(const argument& value, const std::string& path, const item_visit& visit);

  // Each sets @p out. Errors: malformed, of another kind; out_of_range.
  bool text(const argument& value, const std::string& path, std::string& out);
  bool texts(const argument& value, const std::string& path, std::vector<std::string>& out);
  bool flag(const argument& value, const std::string& path, bool& out);
  bool number(const argument& value, const std::string& path, std::int64_t least, std::int64_t most, std::int64_t& out);
  /// A number, whole or not; a text that holds one is accepted.
  bool real(const argument& value, const std::string& path, double least, double most, double& out);
  /// One of @p words, of which there are at least two; the error names them.
  template <class Value>
  bool word(const argument& value, const std::string& path,
            std::initializer_list<std::pair<std::string_view, Value>> words, Value& out) {
    std::string said;
    if (!text(value, path, said)) return false;
    std::string all = '"' + said + "\" is not ";
    std::size_t left = words.size();
    for (const auto& [one, meaning] : words) {
      if (one == said) return out = meaning, true;
      --left;
      all.append(one).append(left > 1 ? ", " : left == 1 ? " or " : "");
    }
    return fail(errc::unknown, path, std::move(all));
  }

  /// Reports an unknown field, or any other error. Both return false, for the caller to return.
  bool unknown(const std::string& path) { return fail(errc::unknown, path, "there is no such argument"); }
  bool fail(errc code, const std::string& path, std::string reason);

  /// The first error. @pre a call returned false
  [[nodiscard]] error failure() && { return std::move(*failure_); }

 private:
  std::string object_;
  std::optional<error> failure_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/framework/argument_reader.cpp"
#endif
