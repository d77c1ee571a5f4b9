// Makes types of the schema and of the documents in typescript.mts. Before:
// curl -sO ${PARTNER_API_URL%/graphql}/scalars.json
module.exports = {
  schema: process.env.PARTNER_API_URL.replace(/graphql$/, "schema.graphql"),
  documents: "typescript.mts",
  generates: {
    "gql/": {
      preset: "client",
      presetConfig: { fragmentMasking: false },
      config: {
        documentMode: "string",
        enumsAsTypes: true,
        scalars: require("./scalars.json"),
        strictScalars: true,
        useTypeImports: true,
      },
    },
  },
};
