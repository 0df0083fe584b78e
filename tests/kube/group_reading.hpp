#pragma once
#include <string>
#include <vector>

#include "gangsched/kube/manifests.hpp"
#include "support/catch.hpp"

/// What the tests of readers share.
namespace gangsched::kube::testing {

inline manifests fine(const std::string& text, const read_options& how = {}) {
  auto made = read(source{"a.yaml", text}, how);
  if (!made) FAIL(made.error().message());
  return *std::move(made);
}
/// What reading says.
inline std::string reading_refusal(const std::string& text, const read_options& how = {}) {
  const auto made = read(source{"a.yaml", text}, how);
  return made ? "fine" : made.error().message();
}
/// What reading, or else applying, says.
inline std::string refusal(const std::string& text) {
  const auto made = read(source{"a.yaml", text});
  if (!made) return made.error().message();
  cluster on;
  const auto applied = apply(on, *made);
  return applied ? "fine" : applied.error().message();
}
inline std::vector<std::string> warned(const manifests& of) {
  std::vector<std::string> all;
  for (const warning& one : of.warnings) all.push_back(one.message());
  return all;
}
/// The same, a line each.
inline std::string warned_lines(const manifests& of) {
  std::string all;
  for (const warning& one : of.warnings) all += one.message() + "\n";
  return all;
}
inline const group_manifest& group(const manifests& of, const std::string& name, bool composite = false) {
  for (const group_manifest& one : of.groups)
    if (one.spec.name == name && one.spec.composite == composite) return one;
  FAIL("no group " + name);
  return of.groups.front();
}
inline const gang& gang_in(const manifests& of, const std::string& name, bool composite = false) {
  return std::get<gang>(group(of, name, composite).spec.policy);
}

}  // namespace gangsched::kube::testing
