#include "common.hpp"

NB_MODULE(_core, to) {
  to.doc() = "The library behind the package gangsched, which is what programs import";
  bindings::add_ids(to);
  bindings::add_cluster(to);
  bindings::add_plugins(to);
  bindings::add_profile(to);
  bindings::add_decisions(to);
  bindings::add_scheduler(to);
  bindings::add_tools(to);
}
