#pragma once
#include <string>

#include "gangsched/kube/manifests.hpp"
#include "support/catch.hpp"

/// What the tests of readers of groups share.
namespace gangsched::kube::testing {

inline manifests fine(const std::string& text, const read_options& how = {}) {
  auto made = read(source{"a.yaml", text}, how);
  if (!made) FAIL(made.error().message());
  return *std::move(made);
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
