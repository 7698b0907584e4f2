// The commands of this program.
#pragma once

namespace muster::steps {

/// Each takes its own arguments (argv[0] is its name) and returns its exit status.
int RunSrun(int argc, char** argv);
int RunSattach(int argc, char** argv);

}  // namespace muster::steps
