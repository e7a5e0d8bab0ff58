// Made by `make web` of spaseq.editors; do not edit.

export const PREFIXES: Readonly<Record<string, string>> = {
  brick: "https://brickschema.org/schema/Brick#",
  dcterms: "http://purl.org/dc/terms/",
  epcis: "https://ref.gs1.org/epcis/",
  fhir: "http://hl7.org/fhir/",
  foaf: "http://xmlns.com/foaf/0.1/",
  geo: "http://www.opengis.net/ont/geosparql#",
  owl: "http://www.w3.org/2002/07/owl#",
  prov: "http://www.w3.org/ns/prov#",
  qudt: "http://qudt.org/schema/qudt/",
  rdf: "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
  rdfs: "http://www.w3.org/2000/01/rdf-schema#",
  saref: "https://saref.etsi.org/core/",
  schema: "https://schema.org/",
  skos: "http://www.w3.org/2004/02/skos/core#",
  sosa: "http://www.w3.org/ns/sosa/",
  ssn: "http://www.w3.org/ns/ssn/",
  time: "http://www.w3.org/2006/time#",
  unit: "http://qudt.org/vocab/unit/",
  xsd: "http://www.w3.org/2001/XMLSchema#",
};
