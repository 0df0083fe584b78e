#include "gangsched/model/named_objects.hpp"

#include "gangsched/model/canonical_selectors.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE void namespace_record::digest_into(digest& out) const {
  canonical::digest_text(out, spec.name, spec.labels);
}

GANGSCHED_INLINE void priority_class_record::digest_into(digest& out) const {
  canonical::digest_text(out, spec.name, spec.value, spec.global_default, spec.preemption, spec.minimum_preemptable,
                         spec.toleration_seconds);
}

GANGSCHED_INLINE void budget_record::digest_into(digest& out) const {
  canonical::digest_text(out, spec.name, ns, spec.selector, spec.disruptions_allowed, spec.disrupted_pods);
}

GANGSCHED_INLINE void service_record::digest_into(digest& out) const {
  canonical::digest_text(out, spec.name, spec.ns, spec.selector);
}

GANGSCHED_INLINE void controller_record::digest_into(digest& out) const {
  canonical::digest_text(out, spec.kind, spec.name, spec.ns, spec.selector);
}

GANGSCHED_INLINE const label_map& named_objects::labels_of(symbol ns) const {
  if (namespaces.rows.count() == 0) return no_labels;
  const row_t row = namespaces.by_name.find({}, names->text(ns));
  return row == no_row ? no_labels : namespaces.record[row]->spec.labels;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
