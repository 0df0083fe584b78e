# What shared libraries export: the documented interface, by names. Templates of the standard library, the engine and the tables behind a
# cluster stay inside, but for those tables that views ask in line (what a plugin's author compiles). tests/symbols.py says what may be there.
option(GANGSCHED_EXPORT_INTERNALS "Shared libraries export what this project's own tests look into" ${GANGSCHED_BUILD_TESTING})

set(abi v${PROJECT_VERSION_MAJOR}_${PROJECT_VERSION_MINOR})  # GANGSCHED_ABI
string(LENGTH ${abi} abi_length)
set(ours 9gangsched${abi_length}${abi})  # gangsched::v0_1:: as compilers mangle it
set(mangled_prefixes _ZN _ZNK _ZNO _ZNR _ZTVN _ZTIN _ZTSN _ZTTN)

# Writes a linker's version script: @p ARGN are patterns of what comes behind the namespace.
function(gangsched_exports target)
  if(NOT library_type STREQUAL SHARED_LIBRARY OR GANGSCHED_EXPORT_INTERNALS)
    return()
  endif()
  set(lines "")
  foreach(prefix IN LISTS mangled_prefixes)
    foreach(pattern IN LISTS ARGN)
      string(APPEND lines "    ${prefix}${ours}${pattern}*;\n")
    endforeach()
  endforeach()
  set(script ${PROJECT_BINARY_DIR}/${target}.map)
  file(CONFIGURE OUTPUT ${script} CONTENT "{\n  global:\n${lines}  local:\n    *;\n};\n")
  target_link_options(${target} PRIVATE -Wl,--version-script=${script} -Wl,-z,defs)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${script})
endfunction()

# engine:: is 6engine, model:: is 5model, kube:: is 4kube, report:: is 6report, record:: is 6record.
set(tables 5model11node_record 5model14resource_kinds)
gangsched_exports(gangsched "[1-47-9]" "5[!m]" "5m[!o]" "6[!e]" "6e[!n]" ${tables})
