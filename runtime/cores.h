// How many cores this process may use.
#pragma once

namespace ct {

// By its affinity and, in a container, its share of time. At least 1; found once.
int usable_cores();

}  // namespace ct
