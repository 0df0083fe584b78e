#include "gangsched/model/named_objects.hpp"

#include "gangsched/model/canonical.hpp"

namespace gangsched {

GANGSCHED_INLINE void namespace_record::digest_into(digest& out) const {
  canonical::text_bytes text{out};
  canonical::put(text, spec.name);
  canonical::put(text, spec.labels);
  out.add(text.bytes);
}

GANGSCHED_INLINE void priority_class_record::digest_into(digest& out) const {
  canonical::text_bytes text{out};
  canonical::put(text, spec.name);
  canonical::put(text, spec.value);
  canonical::put(text, spec.global_default);
  canonical::put(text, spec.preemption);
  out.add(text.bytes);
}

GANGSCHED_INLINE void budget_record::digest_into(digest& out) const {
  canonical::text_bytes text{out};
  canonical::put(text, spec.name);
  canonical::put(text, ns);
  canonical::put(text, spec.selector);
  canonical::put(text, spec.disruptions_allowed);
  canonical::put(text, spec.disrupted_pods);
  out.add(text.bytes);
}

GANGSCHED_INLINE void service_record::digest_into(digest& out) const {
  canonical::text_bytes text{out};
  canonical::put(text, spec.name);
  canonical::put(text, spec.ns);
  canonical::put(text, spec.selector);
  out.add(text.bytes);
}

GANGSCHED_INLINE void controller_record::digest_into(digest& out) const {
  canonical::text_bytes text{out};
  canonical::put(text, spec.kind);
  canonical::put(text, spec.name);
  canonical::put(text, spec.ns);
  canonical::put(text, spec.selector);
  out.add(text.bytes);
}

GANGSCHED_INLINE const label_map& named_objects::labels_of(symbol ns) const {
  const row_t row = namespaces.by_name.find({}, names->text(ns));
  return row == no_row ? no_labels : namespaces.record[row]->spec.labels;
}

}  // namespace gangsched
