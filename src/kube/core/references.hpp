#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gangsched/src/kube/core/objects.hpp"

/// References between objects: to what no file has, and to what says something else. An object that makes one waits, and the rest goes on.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// Where one pass over all objects puts its mistakes, one of each object, so that they need not be found one by one.
class mistakes_by_object {
 public:
  /// @p note: false if the mistake cannot be put with the others.
  explicit mistakes_by_object(std::function<bool(const error&)> note) : note_(std::move(note)) {}
  /// False if the pass has to end with this mistake.
  bool told(origin of, const error& wrong) {
    if (known_.contains({of.file, of.object})) return true;
    if (!note_(wrong)) return false;
    known_.emplace(of.file, of.object);
    return true;
  }

 private:
  std::function<bool(const error&)> note_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> known_;
};

/// Where the files are the whole cluster: priority classes that pods and groups name, and the nodes that pods run on. O(size).
void settle_references(manifests& all);

/// Pods and templates say what their workloads say of queues.
void inherit_words(manifests& all, std::vector<controller_of_pods>& controllers);

/// The class of pods that have neither a class nor a number: of several the lowest, as in Kubernetes. Null: there is none in the files.
const priority_class_spec* default_priority_class(const manifests& all);

/// A pod that was stored with a number that its class, or with a policy that its class, has no more keeps it, as in kube-scheduler, which
/// never looks at classes: the class is dropped, with a warning. With `api_server_rules` that is a mistake of new pods, as defined by
/// @p new_from (made of templates) and without a node. O(pods · log classes).
std::optional<error> settle_priorities(manifests& all, std::size_t new_from, const read_options& how,
                                       mistakes_by_object note);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
