#pragma once
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/kube/manifests.hpp"

/// Reads trees strictly: a value of the wrong type is an error that names file, line, object and path; a field that the
/// API does not have is a warning. As with `argument_reader` every call says whether it went well, and the first
/// mistake stays.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// A value and how it was reached: a chain on the stack that becomes text only when something is wrong.
struct place {
  const value* at = nullptr;
  const place* up = nullptr;
  std::string_view key = {};
  std::size_t index = 0;

  /// "spec.containers[0].resources.requests["nvidia.com/gpu"]"
  [[nodiscard]] std::string path() const;
};

class reader {
 public:
  /// @p warnings may be null.
  reader(std::string_view file, std::string object, std::vector<warning>* warnings)
      : file_(file), object_(std::move(object)), warnings_(warnings) {}

  /// Visits the fields that are not null: visit(key, place). False, and stops, when a visit is false.
  template <class Visit>
  bool fields(const place& of, const Visit& visit) {
    return entries(
        of, [&](std::string_view key, const place& v) { return v.at->kind == value_kind::null || visit(key, v); });
  }
  /// The same of a map, whose entries that are null are there, too: to an API server they are empty text, or zero.
  template <class Visit>
  bool entries(const place& of, const Visit& visit) {
    if (!is(of, value_kind::object, "an object")) return false;
    for (std::size_t i = 0; i < of.at->keys.size(); ++i)
      if (!visit(std::string_view{of.at->keys[i]}, place{&of.at->items[i], &of, of.at->keys[i]})) return false;
    return true;
  }
  template <class Visit>
  bool items(const place& of, const Visit& visit) {
    if (!is(of, value_kind::list, "a list")) return false;
    for (std::size_t i = 0; i < of.at->items.size(); ++i)
      if (!visit(place{&of.at->items[i], &of, {}, i})) return false;
    return true;
  }
  /// A list as a vector: each(place, element) fills a new element.
  template <class T, class Each>
  bool list(const place& of, std::vector<T>& out, const Each& each) {
    return items(of, [&](const place& item) { return each(item, out.emplace_back()); });
  }

  bool text(const place& of, std::string& out);
  bool texts(const place& of, std::vector<std::string>& out);
  bool boolean(const place& of, bool& out);
  template <class T>
  bool integer(const place& of, T& out, std::int64_t least = std::numeric_limits<T>::min(),
               std::int64_t most = std::numeric_limits<T>::max()) {
    std::int64_t number = 0;
    if (!whole(of, least, most, number)) return false;
    out = static_cast<T>(number);
    return true;
  }
  bool amount(const place& of, quantity& out);
  /// Maps: what is null is zero, or empty.
  bool amounts(const place& of, resource_list& out);
  bool texts_by_name(const place& of, label_map& out);
  /// RFC 3339 as nanoseconds since 1970.
  bool time(const place& of, instant& out);
  /// One of some words.
  template <class Enum>
  bool word(const place& of, Enum& out, std::initializer_list<std::pair<std::string_view, Enum>> words) {
    std::string found;
    if (!text(of, found)) return false;
    std::string all;
    for (const auto& [name, meaning] : words) {
      if (name == found) return out = meaning, true;
      (all += all.empty() ? "" : ", ") += name;
    }
    return fail(errc::unknown, of, "\"" + found + "\" is not one of " + all);
  }

  /// A field that scheduling does not read: fine if it is among @p known, else a warning. Always true.
  bool ignore(std::string_view key, const place& of, std::initializer_list<std::string_view> known);
  bool warn(const place& of, std::string reason);
  bool warn(std::uint32_t line, std::string path, std::string reason);
  bool fail(errc code, const place& of, std::string reason);
  bool fail(errc code, std::uint32_t line, std::string path, std::string reason);
  bool fail(error whole);

  [[nodiscard]] error failure() && { return std::move(*failure_); }
  [[nodiscard]] std::string_view file() const noexcept { return file_; }
  [[nodiscard]] const std::string& object() const noexcept { return object_; }
  void set_object(std::string name) { object_ = std::move(name); }

 private:
  bool is(const place& of, value_kind kind, std::string_view what);
  bool whole(const place& of, std::int64_t least, std::int64_t most, std::int64_t& out);

  std::string_view file_;
  std::string object_;
  std::vector<warning>* warnings_;
  std::optional<error> failure_;
};

/// metadata of any object.
struct object_meta {
  std::string name;
  std::string ns;
  label_map labels;
  label_map annotations;  ///< those about groups and devices
  std::optional<instant> deleted;
  std::string owner_kind;  ///< of the controller among the owners, as `owner_kind` has it
  std::string owner_name;
};
bool read_meta(reader& read, const place& of, object_meta& out);
/// How owners of a kind are told from others: Jobs and CronJobs of other API groups than Kubernetes' own, which may have the same names,
/// with their group, as in "Job.batch.volcano.sh".
std::string owner_kind(std::string_view kind, std::string_view version);
/// Reads the same for its name, which is all that counts.
bool read_name(reader& read, const place& of, std::string& out);

/// "Pod default/web"; what has no namespace goes without.
std::string object_name(std::string_view kind, std::string_view ns, std::string_view name);

/// "file:line: Kind ns/name"
std::string where(const manifests& all, origin from, std::string_view kind, std::string_view ns, std::string_view name);

/// Notes that @p pod waits for what @p wrong says, and warns. Of a pod that runs only the warning: it has what it has.
void wait_for(manifests& all, pod_manifest& pod, const error& wrong);

/// The manifest's path of a model's field: "tolerations[2].op" is "spec.tolerations[2].operator".
std::string manifest_path(std::string_view kind, std::string_view field);

/// An error of `check` in the words of the manifest: path and line of the value that the spec's field came from.
error in_manifest(const error& wrong, std::string_view kind, std::string_view file, const value& object,
                  std::string_view name);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
