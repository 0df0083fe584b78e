# The warnings that our own code is free of. gcc 12 sees overruns in std::string (its bug 105651) and unset members in
# std::optional and std::function that are not there.
set(gangsched_false_alarms -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-maybe-uninitialized)

function(gangsched_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${GANGSCHED_WERROR}>:-Werror>
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:${gangsched_false_alarms}>)
endfunction()
